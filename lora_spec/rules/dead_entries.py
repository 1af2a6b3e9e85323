"""Exclusions, saved modules and layers that match nothing in the model: PEFT says nothing of most of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Fix, Rule, Severity
from lora_spec.inventory.layout import LANGUAGE, PROJECTOR, layer_ranges, regex_for_inside, tower_of, tower_root
from lora_spec.inventory.matching import Entry
from lora_spec.rules.counterparts import counterpart
from lora_spec.rules.ground import Ground, fullmatches, in_suffix, is_there, stopped_early
from lora_spec.rules.leaving_out import leaving_out
from lora_spec.rules.near_names import names_with_weights, nearest_name, targets_are_unsure
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
    """Every exclusion, saved module and layer that matches nothing."""
    yield from _exclusions(ground)
    yield from _saved(ground)
    yield from _layers(ground)


def _exclusions(ground: Ground) -> Iterator[Diagnostic]:
    if stopped_early(ground):
        return
    for entry, path in ground.entries("exclude_modules"):
        if not entry.effect:
            yield from _exclusion(entry, path, ground)


def _exclusion(entry: Entry, path: DocumentPath, ground: Ground) -> Iterator[Diagnostic]:
    """An exclusion that excludes nothing."""
    places = ground.parsed.places
    what = f"the regex {entry.entry}" if entry.place is None else yaml_text(entry.entry)
    missed = [p.name for p in ground.matched.parameters if p.name.rpartition(".")[0] in entry.names]
    if missed:
        message = f"{what} does not reach {missed[0]}, which PEFT adapts as a parameter"
        without = leaving_out(missed, ground)
        remedy = f"write {without}" if without else "list target_modules by name, without those that reach it"
        yield at_value(places, path, EXCLUSION_MISSES_EXPERTS, message, remedy)
    elif _caught(entry, ground):
        why = "the modules in it stay targets" if entry.names else f"it matches no module of {ground.tree.model_class}"
        remedy, fixes = _excluding_what_is_inside(entry, ground)
        message = f"{what} excludes nothing: {why}"
        yield at_value(places, path, EXCLUSION_MATCHES_NOTHING, message, remedy, fixes)
    elif not entry.names:
        message = f"{what} excludes nothing: it matches no module of {ground.tree.model_class}"
        near = _intended(entry, ground)
        remedy = f"did you mean {near}?" if near != entry.entry else "remove it, or name a module that the model has"
        yield at_value(places, path, EXCLUSION_MATCHES_NOTHING, message, remedy)
    elif not targets_are_unsure(ground):
        message = f"{what} excludes nothing: what it matches is no target"
        yield at_value(places, path, EXCLUDES_NO_TARGET, message, "it may as well be left out")


def _excluding_what_is_inside(entry: Entry, ground: Ground) -> tuple[str, tuple[Fix, ...]]:
    """The exclusions as one regex that excludes what they name, unless that is everything."""
    places, regex, intended = ground.parsed.places, exclusions_as_regex(ground), _intended(entry, ground)
    targets = {adapted.name for adapted in ground.matched.modules}
    asked = f"did you mean {intended}? " if intended != entry.entry else ""
    if not ground.matched.parameters and targets.issubset(fullmatches(regex, ground.names)):
        said = "all targets are in it" if len(ground.matched.of("exclude_modules")) == 1 else "it leaves no target"
        return f"{asked}remove it, or name other targets too: {said}", ()
    value = {"regex": regex} if ground.parsed.dialect == "lora-spec" else regex
    count = len((targets | set(ground.matched.excluded)).intersection(fullmatches(regex, ground.names)))
    remedy = f"write exclude_modules: {places.spelled(value)}, which excludes {counted(count, 'module')}"
    guessed = any(_intended(other, ground) != other.entry for other in ground.matched.of("exclude_modules"))
    return asked + remedy, places.replacement(("lora", "exclude_modules"), value, safe=not guessed)


def exclusions_as_regex(ground: Ground, *more: str) -> str:
    """One regex for all exclusions and for ``more``: what each excludes already, or what is inside what it names."""
    return "|".join(dict.fromkeys((*_exclusions_one_by_one(ground), *more)))


def _exclusions_one_by_one(ground: Ground) -> Iterator[str]:
    for entry in ground.matched.of("exclude_modules"):
        if entry.effect:
            yield entry.entry if entry.place is None else rf"(.*\.)?{re.escape(entry.entry)}"
        elif (inner := _regex_for_inside(entry, ground)) and _caught(entry, ground):
            yield inner


def _caught(entry: Entry, ground: Ground) -> bool:
    """Whether there are targets inside what an exclusion names."""
    inner = _regex_for_inside(entry, ground)
    targets = {adapted.name for adapted in ground.matched.modules}
    return bool(inner and targets.intersection(fullmatches(inner, ground.names)))


def _intended(entry: Entry, ground: Ground) -> str:
    """The name of an exclusion, or the one in the model that it was probably meant to be."""
    if entry.place is None or entry.names:
        return entry.entry
    return nearest_name(entry.entry, ground.names) or entry.entry


def _regex_for_inside(entry: Entry, ground: Ground) -> str | None:
    """A regex for everything inside the module that an exclusion names, or in the tower that it means."""
    if entry.place is None and not re.fullmatch(r"[\w.\\*]+", entry.entry):
        return None
    name = _intended(entry, ground).replace("\\", "").strip(".*")
    inside = [n for n in ground.names if in_suffix(n, name)] or [n for n in ground.names if n.split(".")[0] == name]
    if inside and "." in name:  # only that one: its last segment alone would say more
        return rf"(.*\.)?{re.escape(name)}\..*"
    if inside:
        return regex_for_inside(inside[0])
    tower = tower_of(name)
    root = tower_root(tower, ground.names) if tower not in (LANGUAGE, PROJECTOR) else None
    return regex_for_inside(root) if root else None


def _saved(ground: Ground) -> Iterator[Diagnostic]:
    places, listed = ground.parsed.places, set(ground.lora.modules_to_save or ())
    for entry, path in ground.entries("modules_to_save"):
        if entry.names or (ground.matched.refusal and is_there(entry, "modules_to_save", ground)):
            continue
        message = f"{yaml_text(entry.entry)} matches no module of {ground.tree.model_class}: nothing is trained in full"
        near = nearest_name(entry.entry, names_with_weights(ground))
        own = counterpart(entry.entry, listed - {entry.entry}, ground)
        if own:
            remedy, fixes = own.remedy, places.items(path, list(own.names)) if own.names else ()
        elif near and near not in listed:
            remedy, fixes = f"did you mean {near}?", places.replacement(path, near)
        else:
            remedy, fixes = "remove it" if near else "remove it, or name a module that the model has", ()
        yield at_value(places, path, SAVED_MATCHES_NOTHING, message, remedy, fixes)


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
