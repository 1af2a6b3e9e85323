"""Entries that match nothing in the model: PEFT skips each of them without a word while another one matches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.layout import LANGUAGE, PROJECTOR, layer_ranges, regex_for_inside, tower_of, tower_root
from lora_spec.inventory.matching import Entry, Reason
from lora_spec.inventory.matching.tables import experts_of
from lora_spec.inventory.tree import Kind
from lora_spec.rules.ground import Ground, fullmatches, in_suffix
from lora_spec.rules.leaving_out import leaving_out
from lora_spec.rules.near_names import nearest_name, targets_are_unsure
from lora_spec.rules.routers import router_meant
from lora_spec.rules.targets import TARGET_MATCHES_NOTHING
from lora_spec.spec.places import at_value
from lora_spec.spec.wording import counted, yaml_text

EXCLUSION_MATCHES_NOTHING = Rule(
    "LS202",
    "exclusion-excludes-nothing",
    Severity.ERROR,
    "A list entry excludes the module of that name or ending, not what is inside it; a regex must match the whole "
    "name. What was meant to be left out is adapted.",
    "lora: {rank: 16, alpha: 32, target_modules: all-linear, exclude_modules: [mlp]}",
    r"lora: {rank: 16, alpha: 32, target_modules: all-linear, exclude_modules: {regex: '.*\.mlp\..*'}}",
)
EXCLUDES_NO_TARGET = Rule(
    "LS234",
    "excludes-no-target",
    Severity.INFO,
    "The exclusion names modules that the targets do not reach. The adapter is what the file says; without the "
    "exclusion it would be the same.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj], exclude_modules: [lm_head]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
EXCLUSION_MISSES_EXPERTS = Rule(
    "LS206",
    "exclusion-misses-experts",
    Severity.ERROR,
    "Exclusions hold for modules alone. PEFT adapts fused experts as parameters, which no exclusion reaches.",
    "base_model: openai/gpt-oss-20b\nlora: {rank: 16, alpha: 32, target_modules: [q_proj], "
    "target_parameters: [experts.down_proj], exclude_modules: [experts]}",
    "base_model: openai/gpt-oss-20b\nlora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
SAVED_MATCHES_NOTHING = Rule(
    "LS203",
    "saved-matches-nothing",
    Severity.ERROR,
    "PEFT says nothing of a name in modules_to_save that no module ends with: a head that was to be trained stays "
    "frozen and is not saved.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], modules_to_save: [embed_token]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], modules_to_save: [embed_tokens]}",
)
LAYER_MATCHES_NOTHING = Rule(
    "LS205",
    "layer-matches-nothing",
    Severity.ERROR,
    "PEFT keeps the layers that exist and drops the others without a word: fewer layers train than the file says.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_to_transform: [0, 31]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_to_transform: [0, 1]}",
)
RULES = (
    EXCLUSION_MATCHES_NOTHING,
    EXCLUDES_NO_TARGET,
    EXCLUSION_MISSES_EXPERTS,
    SAVED_MATCHES_NOTHING,
    LAYER_MATCHES_NOTHING,
)


def inspect_dead_entries(ground: Ground) -> Iterator[Diagnostic]:
    """Every entry of every list, and every key of a pattern, that matches nothing."""
    yield from _targets(ground)
    yield from _exclusions(ground)
    yield from _saved(ground)
    yield from _layers(ground)


def _targets(ground: Ground) -> Iterator[Diagnostic]:
    for field in ("target_modules", "target_parameters"):
        for entry, path in ground.entries(field):
            if entry.names or entry.effect or entry.entry.lower() == "all-linear" or _is_half(entry.entry, ground):
                continue
            if _stopped_early(ground) and (_is_there(entry, field, ground) or _is_converted(entry.entry, ground)):
                continue
            yield _no_target(entry, path, field, ground)


def _is_there(entry: Entry, field: str, ground: Ground) -> bool:
    """Whether the model has what the entry names, which PEFT had not come to when it refused."""
    names = ground.parameter_names if field == "target_parameters" else ground.names
    if entry.place is None:
        return bool(fullmatches(entry.entry, names))
    return any(in_suffix(name, entry.entry) for name in names)


def _is_converted(entry: str, ground: Ground) -> bool:
    """Whether PEFT takes the name for fused experts', which it had not come to."""
    experts = experts_of(ground.tree.model_type)
    return experts is not None and entry in experts.renamed


def _is_half(entry: str, ground: Ground) -> bool:
    """Whether the entry is half of a fused pair, which PEFT refuses and another rule tells."""
    refusal = ground.matched.refusal
    return bool(refusal and refusal.reason is Reason.HALF_FUSED and entry.rpartition(".")[2] in HALVES)


HALVES = ("gate_proj", "up_proj", "w1", "w3")


def _no_target(entry: Entry, path: DocumentPath, field: str, ground: Ground) -> Diagnostic:
    places = ground.parsed.places
    things = "parameter" if field == "target_parameters" else "module"
    what = f"the regex {entry.entry}" if entry.place is None else yaml_text(entry.entry)
    message = f"{what} matches no {things} of {ground.tree.model_class}"
    names = ground.parameter_names if field == "target_parameters" else ground.names
    if (fused := _fused(entry.entry, ground)) and field == "target_modules":
        remedy = f"its experts are fused in parameters: write target_parameters: {yaml_text(list(fused))}"
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, remedy)
    meant = _moved_regex(entry.entry, names) if entry.place is None else _meant(entry.entry, names, field, ground)
    if meant is None:
        return at_value(places, path, TARGET_MATCHES_NOTHING, message, _what_there_is(field, ground))
    value = {"regex": meant} if entry.place is None and ground.parsed.dialect == "lora-spec" else meant
    fixes = places.replacement(path, value)
    return at_value(places, path, TARGET_MATCHES_NOTHING, message, f"did you mean {meant}?", fixes)


def _meant(entry: str, names: tuple[str, ...], field: str, ground: Ground) -> str | None:
    """The name that a list entry was probably meant to be; those of experts that PEFT converts are names too."""
    experts = experts_of(ground.tree.model_type) if field == "target_modules" else None
    router = router_meant(entry, ground) if field == "target_modules" else None
    return router or nearest_name(entry, (*names, *(experts.renamed if experts else ())))


def _fused(entry: str, ground: Ground) -> tuple[str, ...]:
    """The fused expert parameters that a name of a single expert's projection stands for."""
    leaf = entry.rpartition(".")[2]
    fused = [n for m in ground.tree.modules for n, shape in m.parameters if len(shape) == 3 and m.leaf == "experts"]
    if leaf in fused:
        return (f"experts.{leaf}",)
    if leaf not in ("gate_proj", "up_proj", "down_proj", "w1", "w2", "w3"):
        return ()
    wanted = "down_proj" if leaf in ("down_proj", "w2") else "gate_up_proj" if "gate_up_proj" in fused else "up_proj"
    return (f"experts.{wanted}",) if wanted in fused else ()


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


def _what_there_is(field: str, ground: Ground) -> str:
    if field == "target_parameters":
        leaves = sorted({f"{m.leaf}.{n}" for m in ground.tree.modules for n, s in m.parameters if len(s) == 3})
    else:
        leaves = sorted(
            {m.leaf for m in ground.tree.modules if m.kind in (Kind.LINEAR, Kind.CONV1D) and not m.leaf.isdigit()}
        )
    return (
        f"it has {', '.join(leaves[:14])}{' …' if len(leaves) > 14 else ''}" if leaves else "it has nothing of the kind"
    )


def _exclusions(ground: Ground) -> Iterator[Diagnostic]:
    if _stopped_early(ground):
        return
    targets = {adapted.name for adapted in ground.matched.modules}
    for entry, path in ground.entries("exclude_modules"):
        if entry.effect:
            continue
        what = f"the regex {entry.entry}" if entry.place is None else yaml_text(entry.entry)
        why = "the modules in it stay targets" if entry.names else f"it matches no module of {ground.tree.model_class}"
        inner = _regex_for_inside(entry, ground)
        caught = [name for name in fullmatches(inner, ground.names) if name in targets] if inner else []
        places = ground.parsed.places
        missed = [p.name for p in ground.matched.parameters if p.name.rpartition(".")[0] in entry.names]
        if missed:
            message = f"{what} does not reach {missed[0]}, which PEFT adapts as a parameter"
            without = leaving_out(missed, ground)
            remedy = f"write {without}" if without else "list target_modules by name, without those that reach it"
            yield at_value(ground.parsed.places, path, EXCLUSION_MISSES_EXPERTS, message, remedy)
            continue
        if not caught and targets_are_unsure(ground):
            if not entry.names:
                yield _no_such_module(entry, path, ground)
            continue
        if entry.names and not caught:
            message = f"{what} excludes nothing: what it matches is no target"
            yield at_value(places, path, EXCLUDES_NO_TARGET, message, "it may as well be left out")
            continue
        message = f"{what} excludes nothing: {why}"
        if not caught:
            yield _no_such_module(entry, path, ground)
            continue
        regex = "|".join(dict.fromkeys(_all_exclusions(ground, targets)))
        value = {"regex": regex} if ground.parsed.dialect == "lora-spec" else regex
        remedy = (
            f"write exclude_modules: {places.spelled(value)}, "
            f"which excludes {counted(_count(regex, targets, ground), 'module')}"
        )
        fixes = places.replacement(("lora", "exclude_modules"), value)
        yield at_value(places, path, EXCLUSION_MATCHES_NOTHING, message, remedy, fixes)


def _no_such_module(entry: Entry, path: DocumentPath, ground: Ground) -> Diagnostic:
    """An exclusion of something that the model does not have."""
    what = f"the regex {entry.entry}" if entry.place is None else yaml_text(entry.entry)
    message = f"{what} excludes nothing: it matches no module of {ground.tree.model_class}"
    near = nearest_name(entry.entry, ground.names) if entry.place is not None else None
    remedy = "remove it, or name a module that the model has"
    return at_value(
        ground.parsed.places, path, EXCLUSION_MATCHES_NOTHING, message, f"did you mean {near}?" if near else remedy
    )


def _all_exclusions(ground: Ground, targets: set[str]) -> Iterator[str]:
    """A regex for each exclusion: what it excludes already, or what is inside the module that it names."""
    for entry in ground.matched.of("exclude_modules"):
        if entry.effect:
            yield entry.entry if entry.place is None else rf"(.*\.)?{re.escape(entry.entry)}"
        elif (inner := _regex_for_inside(entry, ground)) and targets.intersection(fullmatches(inner, ground.names)):
            yield inner


def _count(regex: str, targets: set[str], ground: Ground) -> int:
    return len((targets | set(ground.matched.excluded)).intersection(fullmatches(regex, ground.names)))


def _stopped_early(ground: Ground) -> bool:
    """Whether PEFT refuses before it has matched everything, so that what had no effect says nothing."""
    refusal = ground.matched.refusal
    return refusal is not None and refusal.reason not in (Reason.NOTHING_MATCHED, Reason.ALL_EXCLUDED)


def _regex_for_inside(entry: Entry, ground: Ground) -> str | None:
    """A regex for everything inside the module that an exclusion names, or in the tower that it means."""
    if entry.place is None and not re.fullmatch(r"[\w.\\*]+", entry.entry):
        return None
    name = entry.entry.replace("\\", "").strip(".*")
    inside = [n for n in ground.names if in_suffix(n, name)] or [n for n in ground.names if n.split(".")[0] == name]
    if inside and "." in name:  # only that one: its last segment alone would say more
        return rf"(.*\.)?{re.escape(name)}\..*"
    if inside:
        return regex_for_inside(inside[0])
    tower = tower_of(name)
    root = tower_root(tower, ground.names) if tower not in (LANGUAGE, PROJECTOR) else None
    return regex_for_inside(root) if root else None


def _saved(ground: Ground) -> Iterator[Diagnostic]:
    for entry, path in ground.entries("modules_to_save"):
        if not entry.names and not (ground.matched.refusal and _is_there(entry, "modules_to_save", ground)):
            near = nearest_name(entry.entry, ground.names)
            remedy = f"did you mean {near}?" if near else "remove it, or name a module that the model has"
            fixes = ground.parsed.places.replacement(path, near) if near else ()
            message = (
                f"{yaml_text(entry.entry)} matches no module of {ground.tree.model_class}: nothing is trained in full"
            )
            yield at_value(ground.parsed.places, path, SAVED_MATCHES_NOTHING, message, remedy, fixes)


def _layers(ground: Ground) -> Iterator[Diagnostic]:
    if not ground.matched.of("target_modules") or not isinstance(ground.lora.target_modules, (tuple, type(None))):
        return
    targets = [name for entry in ground.matched.of("target_modules") for name in entry.names]
    layers = layer_ranges(targets)
    pattern, selected = ground.lora.layers_pattern, ground.matched.of("layers_to_transform")
    if pattern and selected and targets and not any(entry.names or entry.effect for entry in selected):
        message = (
            f"no target is in a list of layers called {pattern if isinstance(pattern, str) else ', '.join(pattern)}"
        )
        remedy = "remove layers_pattern: PEFT finds the usual names itself"
        yield at_value(ground.parsed.places, ("lora", "layers_pattern"), LAYER_MATCHES_NOTHING, message, remedy)
        return
    for entry, path in ground.entries("layers_to_transform"):
        if entry.names or entry.effect or not targets:
            continue
        message = f"layer {entry.entry} has no module that is a target"
        remedy = (
            f"the targets are in layers {layers}"
            if layers
            else "the targets are in no numbered layer: name them in full"
        )
        yield at_value(ground.parsed.places, path, LAYER_MATCHES_NOTHING, message, remedy)
