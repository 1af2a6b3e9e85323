"""What a preparation hands back: the model, what was done to it, and what was proven."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from lora_spec.diagnostics import Diagnostic
from lora_spec.planning.values import Plan


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the recipe: what it did, how long it took, and the peak memory up to its end.

    ``peak_bytes`` is the most that the step held on the GPU; without a GPU, the most that the process has held so far.
    """

    name: str
    seconds: float
    peak_bytes: int
    did: str


@dataclass(frozen=True, slots=True)
class Check:
    """One proof. ``passed`` is None for what the probe could not reach; ``detail`` says what and why."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A model that is ready to train."""

    model: nn.Module
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    trainable_parameters: int
    all_parameters: int
    diagnostics: tuple[Diagnostic, ...] = ()
    plan: Plan | None = None
    """What was planned from the model's structure before it was wrapped; None with LoRA off."""
    world_size: int = 1
    changes: tuple[str, ...] = field(default=())
    """What a tiny rehearsal made smaller."""

    @property
    def passed(self) -> bool:
        """Whether no check failed; what could not be reached did not fail."""
        return all(check.passed is not False for check in self.checks)

    @property
    def trainable_line(self) -> str:
        """The line of ``PeftModel.print_trainable_parameters`` (PEFT 0.21.2), to the letter."""
        trainable, total = self.trainable_parameters, self.all_parameters
        percent = 100 * trainable / total
        return f"trainable params: {trainable:,d} || all params: {total:,d} || trainable%: {percent:.4f}"
