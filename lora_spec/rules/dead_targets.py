"""Targets that match nothing in the model: PEFT skips each of them without a word while another one matches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Fix
from lora_spec.inventory.layout import layer_of, layer_ranges
from lora_spec.inventory.matching import Entry, Reason
from lora_spec.inventory.matching.tables import experts_of, mamba_modules, mamba_types
from lora_spec.inventory.tree import Kind
from lora_spec.rules.counterparts import counterpart, counterparts
from lora_spec.rules.expert_parameters import expert_parameter, parameter_meant
from lora_spec.rules.ground import Ground, fullmatches, in_suffix, is_there, stopped_early
from lora_spec.rules.near_names import names_with_weights, nearest_name
from lora_spec.rules.routers import router_meant
from lora_spec.rules.targets import TARGET_MATCHES_NOTHING
from lora_spec.spec.places import at_value
from lora_spec.spec.wording import yaml_text


def inspect_dead_targets(ground: Ground) -> Iterator[Diagnostic]:
    """Every entry of target_modules and target_parameters that matches nothing."""
    for entry, path in _dead(ground, "target_modules"):
        yield _no_module(entry, path, ground)
    for entry, path in _dead(ground, "target_parameters"):
        yield _no_parameter(entry, path, ground)


def _dead(ground: Ground, field: str) -> Iterator[tuple[Entry, DocumentPath]]:
    for entry, path in ground.entries(field):
        if entry.names or entry.effect or entry.entry.lower() == "all-linear" or _is_half(entry.entry, ground):
            continue
        if stopped_early(ground) and (is_there(entry, field, ground) or _is_converted(entry.entry, ground)):
            continue
        yield entry, path


def _is_converted(entry: str, ground: Ground) -> bool:
    """Whether PEFT takes the name for fused experts', which it had not come to."""
    experts = experts_of(ground.tree.model_type)
    return experts is not None and entry in experts.renamed


def _is_half(entry: str, ground: Ground) -> bool:
    """Whether the entry is half of a fused pair, which PEFT refuses and another rule tells."""
    refusal = ground.matched.refusal
    return bool(refusal and refusal.reason is Reason.HALF_FUSED and entry.rpartition(".")[2] in HALVES)


HALVES = ("gate_proj", "up_proj", "w1", "w3")


def _no_module(entry: Entry, path: DocumentPath, ground: Ground) -> Diagnostic:
    places = ground.parsed.places
    what = f"the regex {entry.entry}" if entry.place is None else yaml_text(entry.entry)
    message = f"{what} matches no module of {ground.tree.model_class}"
    if entry.place is None:
        remedy, fixes = _regex_remedy(entry.entry, path, ground)
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, remedy, fixes)
    if expert_parameter(entry.entry, ground):
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, _as_parameters(ground))
    if meant := _meant(entry.entry, ground):
        fixes = places.replacement(path, meant)
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, f"did you mean {meant}?", fixes)
    if layers := _layers_that_exist(entry.entry, ground):
        remedy = f"the model has it in layers {layers}"
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, remedy)
    if own := counterpart(entry.entry, _listed_before(entry, ground), ground):
        fixes = places.items(path, list(own.names), safe=False) if own.names else ()
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, own.remedy, fixes)
    return at_value(places, path, TARGET_MATCHES_NOTHING, message, _what_there_is(ground))


def _regex_remedy(pattern: str, path: DocumentPath, ground: Ground) -> tuple[str, tuple[Fix, ...]]:
    """What to do about a regex that matches nothing."""
    places = ground.parsed.places
    if parameter := expert_parameter(pattern, ground):
        value = places.spelled([parameter])
        return f"its experts are fused in parameters: write target_parameters: {value} in place of target_modules", ()
    if (meant := _moved_regex(pattern, ground.names)) is None:
        return _what_there_is(ground), ()
    replacement: object = {"regex": meant} if ground.parsed.dialect == "lora-spec" else meant
    return f"did you mean {meant}?", places.replacement(path, replacement)


def _no_parameter(entry: Entry, path: DocumentPath, ground: Ground) -> Diagnostic:
    places = ground.parsed.places
    message = f"{yaml_text(entry.entry)} matches no parameter of {ground.tree.model_class}"
    meant = parameter_meant(entry.entry, ground) or nearest_name(entry.entry, ground.parameter_names)
    remedy = f"did you mean {meant}?" if meant else _what_parameters_there_are(ground)
    fixes = places.replacement(path, meant) if meant else ()
    return at_value(places, path, TARGET_MATCHES_NOTHING, message, remedy, fixes)


def _meant(entry: str, ground: Ground) -> str | None:
    """The name that a list entry was probably meant to be; those of experts that PEFT converts are names too."""
    experts = experts_of(ground.tree.model_type)
    names = (*names_with_weights(ground), *(experts.renamed if experts else ()))
    return router_meant(entry, ground) or nearest_name(entry, names)


def _as_parameters(ground: Ground) -> str:
    """How all entries that name fused experts are written as parameters, together."""
    dead = [entry.entry for entry, _ in _dead(ground, "target_modules") if entry.place is not None]
    wanted = [name for entry in dead if (name := expert_parameter(entry, ground))]
    listed = ground.lora.target_parameters or ()
    if all(any(in_suffix(name, one) or in_suffix(one, name) for one in listed) for name in wanted):
        return "remove it: its experts are fused in parameters, which target_parameters has"
    value = ground.parsed.places.spelled(list(dict.fromkeys((*listed, *wanted))))
    return f"its experts are fused in parameters: take it out, and write target_parameters: {value}"


def _layers_that_exist(entry: str, ground: Ground) -> str:
    """The layers that a name with the number of another layer is in; empty where it has none, or is in no layer."""
    if layer_of(entry) is None:
        return ""
    pattern = r"(.*\.)?" + re.sub(r"\d+", r"\\d+", re.escape(entry), count=1)
    return layer_ranges(fullmatches(pattern, ground.names))


def _listed_before(entry: Entry, ground: Ground) -> set[str]:
    """The names that the list has, and those that have been told for entries before this one."""
    dead = [other.entry for other, _ in _dead(ground, "target_modules")]
    live = {other.entry for other in ground.matched.of("target_modules")} - set(dead)
    earlier = dead[: dead.index(entry.entry)]
    return live.union(*(counterparts(other, ground) for other in earlier))


def _moved_regex(pattern: str, names: tuple[str, ...]) -> str | None:
    """A regex for a path as it is now: newer classes put `language_model` in between, or took it away."""
    dot = r"\\?\."
    for old, new in (
        (rf"^\^?model{dot}", r"model\.language_model\."),
        (rf"^\^?language_model{dot}model{dot}", r"model\.language_model\."),
        (rf"^\^?model{dot}language_model{dot}", r"model\."),
        (rf"^\^?visual{dot}", r"model\.visual\."),
        (r"^\^?", r".*\."),
    ):
        moved = re.sub(old, lambda _, text=new: text, pattern, count=1)  # type: ignore[misc]
        if moved != pattern and fullmatches(moved, names):
            return moved
    return None


def _what_there_is(ground: Ground) -> str:
    """The names that can be adapted, the head last: it is seldom meant."""
    refused = mamba_modules() if ground.tree.model_type in mamba_types() else frozenset()
    leaves = {m.leaf for m in ground.tree.modules if m.kind in (Kind.LINEAR, Kind.CONV1D) and not m.leaf.isdigit()}
    head = (ground.tree.output_embeddings or "").rpartition(".")[2]
    return _listed([*sorted(leaves - refused - {head}), *({head} & leaves)])


def _what_parameters_there_are(ground: Ground) -> str:
    return _listed(sorted({f"{m.leaf}.{n}" for m in ground.tree.modules for n, s in m.parameters if len(s) == 3}))


def _listed(names: list[str]) -> str:
    return f"it has {', '.join(names[:14])}{' …' if len(names) > 14 else ''}" if names else "it has nothing of the kind"
