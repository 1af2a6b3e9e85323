"""PEFT's conversion of expert names that transformers 5 fused: `_convert_peft_config_moe` (PEFT 0.21.2,
`utils/transformers_weight_conversion.py`).

It takes names out of target_modules and puts bare suffixes into target_parameters, wherever in the model they match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lora_spec.inventory.matching.linear import is_all_linear, linear_modules
from lora_spec.inventory.matching.names import Saving, matcher
from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.tables import Experts, experts_of
from lora_spec.inventory.tree import ModuleTree


class Conversion(NamedTuple):
    """The settings after it, and for each new parameter name the entries of target_modules that it is from."""

    settings: Settings
    origins: dict[str, tuple[str, ...]]


def convert_experts(tree: ModuleTree, settings: Settings) -> Conversion:
    """The conversion, or the settings as they were where the model type has none."""
    experts = experts_of(tree.model_type)
    if experts is None:
        return Conversion(settings, {})
    targets = settings.target_modules
    if isinstance(targets, str):
        resolved = _leaf_names(tree, settings, experts)
        if not resolved:
            return Conversion(settings, {})
        targets = tuple(sorted(resolved))
    moved: dict[str, list[str]] = {}
    remaining = []
    for target in dict.fromkeys(targets or ()):
        old = _old_name(target, experts)
        if old is None:
            remaining.append(target)
        else:
            moved.setdefault(experts.renamed[old], []).append(target)
    changed = settings._replace(
        target_modules=tuple(remaining),
        target_parameters=tuple(dict.fromkeys((*(settings.target_parameters or ()), *moved))),
    )
    return Conversion(_widened(changed, moved, experts), {new: tuple(old) for new, old in moved.items()})


def _old_name(target: str, experts: Experts) -> str | None:
    return next((old for old in experts.renamed if target == old or target.endswith(f".{old}")), None)


def _widened(settings: Settings, moved: dict[str, list[str]], experts: Experts) -> Settings:
    """Rank and alpha of fused parameters are as large as those of their parts together."""
    ranks, alphas = dict(settings.rank_pattern), dict(settings.alpha_pattern)
    for new, parts in experts.fused.items():
        present = {_old_name(target, experts) for target in moved.get(new, ())}
        if 0 < len(present) < len(parts):
            missing = sorted(set(parts) - present)
            raise RefusedError(Reason.HALF_FUSED, "ValueError", *moved[new], *missing)
        if present and len(parts) > 1:
            key = rf".*\.{re.escape(new)}"
            ranks[key] = settings.r * len(parts)
            alphas[key] = settings.lora_alpha * len(parts)
    return settings._replace(rank_pattern=tuple(ranks.items()), alpha_pattern=tuple(alphas.items()))


def _leaf_names(tree: ModuleTree, settings: Settings, experts: Experts) -> set[str]:
    """`_resolve_string_target_modules` (PEFT 0.21.2): a regex or `all-linear` becomes leaf names."""
    if is_all_linear(settings.target_modules):
        return {name.rpartition(".")[2] for name in linear_modules(tree, settings)} | experts.renamed.keys()
    is_target = _Test(settings)
    parameters = [name for name, _ in tree.parameters()]
    names = (*(module.name for module in tree.modules), *parameters)
    found = {name.rpartition(".")[2] for name in names if is_target(name)}
    containers: dict[str, set[str]] = {}
    for name in parameters:
        container, _, leaf = name.rpartition(".")
        containers.setdefault(leaf, set()).add(container)
    return found | set(_fused_names(experts, found, containers, is_target))


def _fused_names(experts: Experts, found: set[str], containers: dict[str, set[str]], is_target: _Test) -> Iterator[str]:
    """Old names that the regex would have matched before the experts were fused."""
    for old, new in experts.renamed.items():
        if old not in found and any(is_target(f"{container}.{old}") for container in containers.get(new, ())):
            yield old


class _Test:
    """`check_target_module_exists` for a regex (PEFT 0.21.2)."""

    def __init__(self, settings: Settings) -> None:
        """Compile what decides."""
        self.targets = matcher(settings.target_modules)
        self.excluded = matcher(settings.exclude_modules)
        self.saved = Saving(settings.modules_to_save or ())

    def __call__(self, name: str) -> bool:
        return bool(self.targets(name)) and not self.excluded(name) and not self.saved.hits(name)


def origins_of(name: str, origins: dict[str, tuple[str, ...]], written: Iterable[str]) -> tuple[str, ...]:
    """The entries of target_modules that a parameter is from; none where target_parameters names it anyway."""
    if any(name == entry or name.endswith(f".{entry}") for entry in written):
        return ()
    return tuple(
        entry for new, entries in origins.items() if name == new or name.endswith(f".{new}") for entry in entries
    )
