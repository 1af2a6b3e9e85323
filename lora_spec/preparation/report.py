"""Time and peak memory of each step, and a word to whoever is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import torch

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.tiny import CannotShrink
from lora_spec.preparation.values import Step

OnStep: TypeAlias = Callable[[str], None]
"""Called with a step's name when it begins."""


@dataclass(slots=True)
class Note:
    """What the running step says it did."""

    did: str = ""


class StepCrashedError(RuntimeError):
    """A step that raised something other than a fault of the document; ``__cause__`` is what it raised."""

    def __init__(self, step: str, error: Exception) -> None:
        """Name the step and the error."""
        self.step = step
        if isinstance(error, ImportError):  # a package that only some settings need, such as bitsandbytes
            super().__init__(f"the step {step} needs a package that is not installed here: {error}")
        else:
            super().__init__(f"the step {step} crashed: {type(error).__name__}: {error}")


@dataclass(slots=True)
class StepLog:
    """The steps so far, in order."""

    on_step: OnStep | None = None
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[Note]:
        """Run a step and measure it; a step that raises is not recorded, and what is no fault of the document names it."""
        if self.on_step is not None:
            self.on_step(name)
        note = Note()
        _reset_peak()
        began = time.perf_counter()
        try:
            yield note
        except (SpecError, CannotShrink):
            raise
        except Exception as error:
            raise StepCrashedError(name, error) from error
        self.steps.append(Step(name, time.perf_counter() - began, peak_bytes(), note.did))


def peak_bytes() -> int:
    """The most CUDA memory since the step began; without a GPU the process's peak resident size."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # bytes on macOS, KiB elsewhere


def _reset_peak() -> None:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
