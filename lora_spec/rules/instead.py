"""What to name in place of a module that cannot be adapted."""

from __future__ import annotations

import re

from lora_spec.inventory.matching.tables import mamba_modules, mamba_types
from lora_spec.inventory.tree import Kind, Module
from lora_spec.planning.starting_point import starting_targets
from lora_spec.rules.ground import Ground, in_suffix
from lora_spec.spec.targets import Regex

_SHOWN = 8


def instead(name: str, ground: Ground) -> str:
    """What to name instead of the module ``name``: the layers inside, its weight, or nothing."""
    inside = _inside(name, ground)
    if isinstance(ground.lora.target_modules, Regex):
        return ended_in_layers(inside, ground)
    if inside:
        return f"name what is in it: {', '.join(inside[:_SHOWN])}"
    module = ground.tree.by_name.get(name)
    weight = module.shape("weight") if module else None
    if module and weight and len(weight) == 2:
        return f"remove it, or adapt its weight: target_parameters: [{module.leaf}.weight]"
    return _left_out(name, ground)


def ended_in_layers(names: list[str], ground: Ground) -> str:
    """How a regex that also reaches blocks is ended in layers: in ``names``, else in those to start with."""
    start = starting_targets(ground.tree)
    leaves = "|".join(re.escape(leaf) for leaf in names or start.names)
    pattern = rf".*\.({leaves})" if names or not start.regex else start.regex
    return f"end it in the names of linear layers, such as '{pattern}'"


def _inside(name: str, ground: Ground) -> list[str]:
    """The linear layers in a module, each with the name of the module around it where other blocks have one so called."""
    refused = mamba_modules() if ground.tree.model_type in mamba_types() else frozenset()
    within = [m for m in ground.tree.below(name) if m.name != name and _is_layer(m) and m.leaf not in refused]
    owners = {leaf: {_owner(m) for m in ground.tree.modules if m.leaf == leaf} for leaf in {m.leaf for m in within}}
    inside = {m.leaf if owners[m.leaf] <= {_owner(n) for n in within} else f"{_owner(m)}.{m.leaf}" for m in within}
    return sorted(inside)


def _is_layer(module: Module) -> bool:
    return module.kind in (Kind.LINEAR, Kind.CONV1D) and not module.leaf.isdigit()


def _owner(module: Module) -> str:
    return module.name.rpartition(".")[0].rpartition(".")[2]


def _left_out(name: str, ground: Ground) -> str:
    """How to leave out what has nothing in it to adapt, such as a norm."""
    listed = ground.lora.target_modules
    entry = next((e for e in listed if in_suffix(name, e)), None) if isinstance(listed, tuple) else None
    if entry is None:
        return "name linear layers, or a longer ending that does not reach it"
    reached = [m for m in ground.tree.modules if in_suffix(m.name, entry)]
    if any(m.in_out for m in reached):
        return "write a longer ending that does not reach it"
    in_full = {m.name for m in ground.tree.modules if m.name.endswith(entry)}
    if (
        ground.parsed.dialect == "lora-spec"
        and in_full == {m.name for m in reached}
        and not ground.lora.modules_to_save
    ):
        return f"remove it, or train it in full: modules_to_save: {ground.parsed.places.spelled([entry])}"
    return "remove it: only layers with a weight matrix can be adapted"
