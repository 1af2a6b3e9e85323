"""Whether a plan fits a device, and which of the settings at hand would make it fit."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.planning.values import Plan
from lora_spec.reports.plan_text import size_of


def fit_as_text(plan: Plan, capacity: int) -> str:
    """A sentence, and a line for each setting that would help."""
    memory = plan.memory
    if memory is None:
        return f"whether it fits in {size_of(capacity)} is not known: there is no memory estimate\n"
    size = f"{size_of(memory.total)} ({size_of(memory.lower)} to {size_of(memory.upper)})"
    missing = " without the parts that are not known" if None in (memory.activations, memory.logits) else ""
    if memory.upper <= capacity:
        verdict = "fits"
    elif memory.lower > capacity:
        verdict = "does not fit"
    else:
        verdict = "fits by the expected value, not by the upper" if memory.total <= capacity else "is not likely to fit"
    lines = [f"{verdict} in {size_of(capacity)}: {size}{missing}"]
    if memory.upper > capacity:
        lines += [f"  would fit with {change}: {size_of(total)}" for change, total in plan.fits if total <= capacity]
        lines += list(_nothing_helps(plan, capacity))
    return "\n".join(lines) + "\n"


def _nothing_helps(plan: Plan, capacity: int) -> Iterator[str]:
    if not any(total <= capacity for _, total in plan.fits):
        yield "  no single setting of checkpointing, sharding, quantization, batch or rank would make it fit"
