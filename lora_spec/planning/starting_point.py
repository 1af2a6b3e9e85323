"""The targets to start with on a model: attention and MLP of the language part, in every layer."""

from __future__ import annotations

import re
from typing import NamedTuple

from lora_spec.inventory.layout import LANGUAGE, layer_of, tower_of
from lora_spec.inventory.matching import match
from lora_spec.inventory.matching.tables import experts_of, mamba_modules, mamba_types
from lora_spec.inventory.tree import Kind, Module, ModuleTree

ROUTERS = {"gate", "router", "shared_expert_gate", "e_score_correction", "weights_proj"}


class Targets(NamedTuple):
    """Names, or a regex where the names alone would reach other towers; and what of experts is left out."""

    names: tuple[str, ...]
    regex: str | None = None
    experts: tuple[str, ...] = ()


def starting_targets(tree: ModuleTree) -> Targets:
    """Linear layers of the language model's layers, but for routers and what PEFT cannot adapt or would misread."""
    wanted = [module for module in tree.modules if _is_wanted(module, tree)]
    names = tuple(dict.fromkeys(module.leaf for module in wanted))
    experts = tuple(dict.fromkeys(f"experts.{n}" for m in tree.modules for n, s in m.parameters if _is_expert(m, s)))
    if _reaches(tree, names) == {module.name for module in wanted}:
        return Targets(names, experts=experts)
    return Targets(names, _regex([module.name for module in wanted], names), experts)


def _is_expert(module: Module, shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and module.leaf == "experts" and tower_of(module.name) == LANGUAGE


def _is_wanted(module: Module, tree: ModuleTree) -> bool:
    in_a_layer = layer_of(module.name) is not None and tower_of(module.name) == LANGUAGE
    if (
        not in_a_layer
        or module.kind not in (Kind.LINEAR, Kind.CONV1D)
        or module.leaf in ROUTERS
        or module.leaf.isdigit()
    ):
        return False
    converted = experts_of(tree.model_type)
    if converted is not None and module.leaf in converted.renamed:
        return False
    return not (tree.model_type in mamba_types() and module.leaf in mamba_modules())


def _reaches(tree: ModuleTree, names: tuple[str, ...]) -> set[str]:
    matched = match(tree, {"r": 8, "lora_alpha": 16, "target_modules": list(names)})
    return {adapted.name for adapted in matched.modules} if matched.refusal is None else set()


def _regex(wanted: list[str], names: tuple[str, ...]) -> str:
    """The names, in the lists of layers that they are wanted in."""
    lists = dict.fromkeys(re.split(r"\.\d+\.", name, maxsplit=1)[0] for name in wanted)
    return rf"({'|'.join(map(re.escape, lists))})\.\d+\.(.*\.)?({'|'.join(map(re.escape, names))})"
