"""What the rules on the model stand on: the tree that was found, and what PEFT would do with the draft's adapter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lora_spec.inventory.layout import layer_ranges
from lora_spec.inventory.matching import Entry, Match, Reason
from lora_spec.inventory.sources import Found
from lora_spec.inventory.tree import ModuleTree
from lora_spec.spec.lora import Lora
from lora_spec.spec.parsing import Parsed


class Ground(NamedTuple):
    """A new adapter, what it is in PEFT's arguments, a tree, and the match of the two; ``sound`` is whether the document had
    no error before the model was looked at. ``final`` is the match of the names that are written out, where they are.
    """

    parsed: Parsed
    found: Found
    tree: ModuleTree
    lora: Lora
    arguments: dict[str, object]
    matched: Match
    sound: bool = True
    final: Match | None = None

    @property
    def reached(self) -> Match:
        """What is adapted in the end, where names are written out: ``matched``, or ``final`` in its place."""
        return self.final or self.matched

    def entries(self, field: str) -> Iterator[tuple[Entry, tuple[str | int, ...]]]:
        """The entries of one list that the user wrote and that can be judged, with their native paths."""
        for entry in self.matched.of(field):
            if entry.place is None and getattr(self.lora, field, None) is None:
                continue  # PEFT's default, or what a task type adds
            path = self.path(field, entry)
            if self.parsed.knows(path):
                yield entry, path

    def path(self, field: str, entry: Entry) -> tuple[str | int, ...]:
        """Where an entry stands."""
        if field in ("rank_pattern", "alpha_pattern"):
            return ("lora", field, entry.entry)
        one = entry.place is None or self.parsed.places.scalar(("lora", field)) is not None
        return ("lora", field) if one else ("lora", field, entry.place or 0)

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of all modules but the root."""
        return tuple(module.name for module in self.tree.modules if module.name)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The full names of all parameters that some module holds itself."""
        return tuple(
            f"{module.name}.{name}" for module in self.tree.modules for name, _ in module.parameters if module.name
        )


def in_suffix(name: str, suffix: str) -> bool:
    """Whether ``suffix`` is ``name`` or ends it at a dot, as PEFT matches list entries."""
    return name == suffix or name.endswith(f".{suffix}")


def some(names: Sequence[str]) -> str:
    """The first of several names and how many more there are, with their layers."""
    shown = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    layers = layer_ranges(names)
    return f"{shown} (layers {layers})" if len(names) > 1 and layers else shown


def fullmatches(pattern: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a regex matches as a whole; none where it does not compile."""
    try:
        compiled = re.compile(pattern)
    except re.error:
        return ()
    return tuple(name for name in names if compiled.fullmatch(name))


def stopped_early(ground: Ground) -> bool:
    """Whether PEFT refuses before it has matched everything, so that what had no effect says nothing."""
    refusal = ground.matched.refusal
    return refusal is not None and refusal.reason not in (Reason.NOTHING_MATCHED, Reason.ALL_EXCLUDED)


def is_there(entry: Entry, field: str, ground: Ground) -> bool:
    """Whether the model has what the entry names, which PEFT had not come to when it refused."""
    names = ground.parameter_names if field == "target_parameters" else ground.names
    if entry.place is None:
        return bool(fullmatches(entry.entry, names))
    return any(in_suffix(name, entry.entry) for name in names)
