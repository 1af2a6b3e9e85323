"""PEFT's arguments in a form that reaches just what the file says, where PEFT's own conversion of experts would not.

On mixture-of-experts models PEFT 0.21.2 goes by the last segment of names and regexes, and applies neither layer
selections nor exclusions to experts (`_convert_peft_config_moe`). Names in full, and experts as parameters named in
full, are taken as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lora_spec.inventory.layout import layer_of
from lora_spec.inventory.matching import Adapted, Match, Reason, match
from lora_spec.inventory.matching.tables import experts_of
from lora_spec.inventory.tree import ModuleTree
from lora_spec.spec.peft_arguments import peft_arguments
from lora_spec.spec.root import LoraSpec


def explicit_arguments(tree: ModuleTree, arguments: Mapping[str, Any], matched: Match) -> dict[str, Any] | None:
    """``arguments`` with explicit names that adapt just what is written; None where they do so already, or where PEFT
    has no such form.

    A linear layer whose name PEFT takes for the routed experts', such as a shared expert's, is named by its weight; that
    form knows no dropout, bias or variant.
    """
    experts = experts_of(tree.model_type)
    if experts is None or matched.refusal is not None or not _may_differ(arguments, experts.renamed):
        return None
    written = _as_written(tree, arguments)
    if written is None:
        return None
    modules, parameters = _intended(written, arguments, matched)
    if (modules, parameters) == _reached(matched):
        return None
    taken = {name for name in modules if name.rpartition(".")[2] in experts.renamed}
    weights = {f"{name}.weight" for name in taken}
    explicit = _named(tree, arguments, matched, modules - taken, parameters | weights)
    return explicit if _reached(match(tree, explicit)) == (modules - taken, parameters | weights) else None


def final_arguments(spec: LoraSpec, tree: ModuleTree | None) -> tuple[dict[str, Any], bool]:
    """What PEFT is given for ``spec`` on ``tree``, and whether names were written out."""
    arguments = peft_arguments(spec)
    explicit = explicit_arguments(tree, arguments, match(tree, arguments)) if tree is not None else None
    return (arguments, False) if explicit is None else (explicit, True)


def _may_differ(arguments: Mapping[str, Any], renamed: Mapping[str, str]) -> bool:
    """Whether PEFT's conversion has anything to do; a list without experts' names is taken as it is."""
    targets = arguments.get("target_modules")
    return isinstance(targets, str) or any(name.rpartition(".")[2] in renamed for name in targets or ())


def _reached(matched: Match) -> tuple[set[str], set[str]]:
    return {a.name for a in matched.modules}, {a.name for a in matched.parameters}


def _as_written(tree: ModuleTree, arguments: Mapping[str, Any]) -> Match | None:
    """What the arguments match without PEFT's conversion; None where that cannot be told.

    An entry that names a module which cannot be adapted, such as a router's, speaks of its parameters alone.
    """
    plain, targets = replace(tree, model_type=""), arguments.get("target_modules")
    if isinstance(targets, list):
        sound = [n for n in targets if not _cannot_adapt(match(plain, {**arguments, "target_modules": [n]}))]
        arguments = {**arguments, "target_modules": sound}
    written = match(plain, arguments)
    return None if _cannot_adapt(written) else written


def _cannot_adapt(matched: Match) -> bool:
    return matched.refusal is not None and matched.refusal.reason not in (Reason.NOTHING_MATCHED, Reason.ALL_EXCLUDED)


def _intended(written: Match, arguments: Mapping[str, Any], matched: Match) -> tuple[set[str], set[str]]:
    """The modules that the arguments name as they stand, and the experts that they speak of, within the layers and less
    the exclusions that are written.
    """
    modules = {adapted.name for adapted in written.modules}
    targets = arguments.get("target_modules")
    is_regex = isinstance(targets, str) and targets.lower() != "all-linear"
    spoken = {n for e in matched.of("target_modules") for n in e.names} if is_regex else None
    listed = {n for e in matched.of("target_parameters") for n in e.effect}
    parameters = {
        adapted.name
        for adapted in matched.parameters
        if adapted.name in listed
        or (
            (spoken is None or adapted.name in spoken)
            and _is_named(adapted, targets)
            and _is_meant(adapted.name, arguments)
        )
    }
    return modules, parameters


def _is_named(adapted: Adapted, targets: object) -> bool:
    """Whether an entry of a list speaks of these experts: by a bare last segment, or by a path that they have."""
    if not isinstance(targets, list):
        return True
    owner = adapted.name.rpartition(".")[0]
    old_names = ((entry, f"{owner}.{entry.rpartition('.')[2]}") for entry in adapted.converted_from)
    return any(name == entry or name.endswith(f".{entry}") for entry, name in old_names)


def _is_meant(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an expert parameter is in the layers that are selected and not excluded."""
    layers = arguments.get("layers_to_transform")
    if layers and layer_of(name) not in layers:
        return False
    excluded = arguments.get("exclude_modules") or ()
    owner = name.rpartition(".")[0]
    if isinstance(excluded, str):
        return not (re.fullmatch(excluded, name) or re.fullmatch(excluded, owner))
    return not any(owner == entry or owner.endswith(f".{entry}") for entry in excluded)


def _named(
    tree: ModuleTree, arguments: Mapping[str, Any], matched: Match, modules: set[str], parameters: set[str]
) -> dict[str, Any]:
    """The same arguments with names in full, and the ranks that PEFT gives to fused experts."""
    order = [module.name for module in tree.modules]
    left = {k: v for k, v in arguments.items() if k not in ("layers_to_transform", "layers_pattern", "exclude_modules")}
    left["target_modules"] = sorted(modules, key=order.index)
    if parameters:
        left["target_parameters"] = sorted(parameters)
        for field in ("rank_pattern", "alpha_pattern"):
            pattern = dict(getattr(matched.effective, field))
            written = arguments.get(field) or {}
            kept = {
                k: v
                for k, v in pattern.items()
                if k in written or any(re.match(rf"(.*\.)?({k})$", n) for n in parameters)
            }
            if kept:
                left[field] = kept
    return left
