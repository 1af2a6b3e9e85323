"""What is said where the structure of the base model is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lora_spec.rules.inspection import Finding, Unchecked, drafted, new_adapter
from lora_spec.spec.parsing import Parsed

if TYPE_CHECKING:
    from lora_spec.inventory.sources import Found


def model_not_known(parsed: Parsed, found: Found | None) -> Iterator[Finding]:
    """That the targets were not held against the model, why, and what would help."""
    if new_adapter(parsed) is None or targets_are_lost(parsed):
        return
    base = drafted(parsed).base_model if parsed.knows(("base_model",)) else "the base model"
    why = f" ({found.problem})" if found is not None and found.problem else ""
    remedy = found.remedy if found is not None else ""
    yield Unchecked(("lora", "target_modules"), f"the targets against the modules of {base}{why}", remedy)


def targets_are_lost(parsed: Parsed) -> bool:
    """Whether the whole list of targets is faulty or left open: then there is nothing to hold against the model."""
    path = ("lora", "target_modules")
    return any(path[: len(lost)] == lost for lost in parsed.faulty | parsed.open)
