"""Which modules become targets: the walk of `BaseTuner.inject_adapter` (PEFT 0.21.2, `tuners/tuners_utils.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lora_spec.inventory.matching.linear import is_all_linear, linear_modules
from lora_spec.inventory.matching.names import Matcher, Saving, Suffixes, fewest_entries, layer_finder, matcher
from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.tables import default_targets
from lora_spec.inventory.tree import ModuleTree

DUMMY = "dummy-target-modules"
"""`DUMMY_TARGET_MODULES` (PEFT 0.21.2): matches nothing, and PEFT does not mind."""

MANY = 20
"""`MIN_TARGET_MODULES_FOR_OPTIMIZATION` (PEFT 0.21.2): from here on PEFT shortens a list."""


class Selection(NamedTuple):
    """Targets in the model's order and those that follow the embedding; what exclusions and saved modules kept from
    LoRA, and all that exclusions match, with the places of the entries; the layers of what a list matched by suffix.
    """

    targets: tuple[str, ...]
    tied: tuple[str, ...]
    excluded: dict[str, list[int]]
    saved: dict[str, list[int]]
    excludes: dict[str, list[int]]
    layers: dict[str, int]


def with_defaults(tree: ModuleTree, settings: Settings) -> Settings:
    """`LoraModel._prepare_adapter_config` (PEFT 0.21.2): default targets where none are given."""
    if settings.target_modules is not None:
        return settings
    targets = default_targets(tree.model_type)
    if targets is None and not settings.target_parameters:
        raise RefusedError(Reason.NO_DEFAULT_TARGETS, "ValueError", tree.model_type)
    return settings._replace(target_modules=targets)


def expanded(tree: ModuleTree, settings: Settings) -> Settings:
    """`all-linear` as the names that it stands for."""
    if not is_all_linear(settings.target_modules):
        return settings
    return settings._replace(target_modules=linear_modules(tree, settings))


def shortened(tree: ModuleTree, settings: Settings, is_target: Matcher) -> Settings:
    """A long list in fewer entries. It matches the same names; but what it no longer says in full is subject to
    `layers_to_transform`.
    """
    targets = settings.target_modules
    if not isinstance(targets, tuple) or len(set(targets)) < MANY:
        return settings
    fewer = fewest_entries(targets, (m.name for m in tree.modules if not is_target(m.name)))
    return settings._replace(shortened=fewer) if len(fewer) < len(set(targets)) else settings


def select(tree: ModuleTree, settings: Settings, is_target: Matcher) -> Selection:
    """The walk over the model's modules; ``is_target`` is the matcher for the settled target_modules."""
    found = Selection((), (), {}, {}, {}, {})
    if settings.target_modules == DUMMY:
        return found
    excluded = matcher(settings.exclude_modules)
    saving = Saving(settings.modules_to_save or ())
    followers = Suffixes(settings.targets_to_tie)
    layers = _Layers(settings)
    targets, tied = [], []
    for module in tree.modules:
        name = module.name
        out = excluded(name)
        if not name:
            continue
        if followers.hits(name):
            tied.append(name)
            continue
        if out:
            found.excludes[name] = out
        if not is_target(name) or not layers.takes(name, found.layers):
            continue
        if out:
            found.excluded[name] = out
        elif kept := saving.hits(name):
            found.saved[name] = kept
        else:
            targets.append(name)
    return found._replace(targets=tuple(targets), tied=tuple(tied))


class _Layers:
    """`layers_to_transform`: it holds for entries of a list that matched by suffix, not for a full name or a regex."""

    def __init__(self, settings: Settings) -> None:
        """Read the layers that are wanted."""
        wanted = settings.layers_to_transform
        self.numbers = {wanted} if isinstance(wanted, int) else set(wanted or ())
        self.find = layer_finder(settings.layers_pattern)
        targets = settings.shortened or settings.target_modules
        self.full_names = () if isinstance(targets, str) else frozenset(targets or ())

    def takes(self, name: str, numbers: dict[str, int]) -> bool:
        if not self.numbers or name in self.full_names:
            return True
        number = self.find(name)
        if number is not None:
            numbers[name] = number
        return number in self.numbers


def written_matcher(written: str | Sequence[str] | None, tree: ModuleTree, settings: Settings) -> Matcher:
    """What target_modules matches as it is written, before any conversion."""
    if is_all_linear(written):
        names = set(linear_modules(tree, settings))
        return lambda name: [0] if name in names else []
    return matcher(written)
