"""A plan as plain values. Counts are PEFT's own; None stands for what is not known."""

from __future__ import annotations

from typing import Any, NamedTuple

from lora_spec.diagnostics import Diagnostic
from lora_spec.planning.alternatives import Alternative
from lora_spec.planning.memory import Memory


class PlanEntry(NamedTuple):
    """What one entry of one list came to. ``layers`` is like ``0-23``; ``towers`` are the parts of the model it is in."""

    field: str
    entry: str
    matched: int
    layers: str
    towers: tuple[str, ...]
    trainable_parameters: int


class Group(NamedTuple):
    """Adapted modules of one name, shape, rank and alpha. ``shape`` is (inputs, outputs), or a parameter's own."""

    name: str
    shape: tuple[int, ...]
    rank: int
    alpha: float
    scale: float
    modules: int
    layers: str
    tower: str
    trainable_parameters: int


class LeftOut(NamedTuple):
    """Linear layers of one name that get no adapter, and why where there is a reason beyond not being named."""

    name: str
    modules: int
    layers: str
    tower: str
    parameters: int
    reason: str


class PlannedStep(NamedTuple):
    """A step of `prepare`, and why it is made."""

    name: str
    why: str


class Cell(NamedTuple):
    """One place of the map of layers and module kinds: how many modules there are and how many are adapted."""

    layer: int | None
    name: str
    tower: str
    present: int
    adapted: int
    rank: int | None


class Plan(NamedTuple):
    """What would be trained.

    ``fits`` are changes of settings with the memory that each would take. Where the structure of the model is not known, the counts are None and ``diagnostics`` say why. ``exact`` is false
    where the counts are not proven to be PEFT's.
    """

    base_model: str
    model_type: str | None
    model_class: str | None
    model_source: str
    exact: bool
    lora: bool
    trainable_parameters: int | None
    all_parameters: int | None
    adapted_modules: int | None
    adapted_parameters: int | None
    adapter_bytes: int | None
    entries: tuple[PlanEntry, ...]
    groups: tuple[Group, ...]
    left_out: tuple[LeftOut, ...]
    cells: tuple[Cell, ...]
    peft: dict[str, Any] | None
    steps: tuple[PlannedStep, ...]
    memory: Memory | None
    fits: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def trainable_percent(self) -> float | None:
        """Percent of all parameters, with PEFT's four decimals."""
        if self.trainable_parameters is None or not self.all_parameters:
            return None
        return round(100 * self.trainable_parameters / self.all_parameters, 4)
