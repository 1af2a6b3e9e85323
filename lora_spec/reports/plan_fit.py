"""Whether a plan fits a device, and which of the settings at hand would make it fit."""

from __future__ import annotations

from typing import Any

from lora_spec.planning.alternatives import Alternative
from lora_spec.planning.memory import Memory
from lora_spec.planning.values import Plan
from lora_spec.reports.plan_text import size_of


def fit_as_text(plan: Plan, capacity: int) -> str:
    """A sentence, and a line for each setting that would help."""
    memory = plan.memory
    if memory is None:
        return f"whether it fits in {size_of(capacity)} is not known: there is no memory estimate\n"
    lines = [f"{_verdict(memory, capacity)} {size_of(capacity)}: {_size(memory)}"]
    if fits(memory, capacity) is None:
        lines.append("  give train.batch_size and train.sequence_length, or --batch-size and --sequence-length")
    if memory.upper > capacity:
        helping = helpful(plan, capacity)
        lines += [f"  would fit with {change}: {_size(other)}" for change, other in helping]
        if not helping:
            lines.append(
                "  no pair of checkpointing, batch, length, optimizer or quantization, nor sharding, makes it fit"
            )
    return "\n".join(lines) + "\n"


def fit_as_json(plan: Plan, capacity: int) -> dict[str, Any]:
    """The same in builtin types; ``fits`` is null where a part of the memory is not known, or none is."""
    memory = plan.memory
    return {
        "capacity_bytes": capacity,
        "fits": None if memory is None else fits(memory, capacity),
        "changes": [{"change": words, "total": other.total} for words, other in helpful(plan, capacity)]
        if memory is not None and memory.upper > capacity
        else [],
    }


def fits(memory: Memory, capacity: int) -> bool | None:
    """Whether the expected total fits; None where parts are not known and the known ones would fit."""
    if memory.total > capacity:
        return False
    return None if None in (memory.activations, memory.logits) else True


def helpful(plan: Plan, capacity: int) -> list[Alternative]:
    """The alternatives that fit by their expected total: pairs where no single one does, and the fewest devices."""
    fitting = [one for one in plan.fits if one.memory.total <= capacity]
    sharded = [one for one in fitting if "fsdp" in one.change][:1]
    here = [one for one in fitting if "fsdp" not in one.change]
    singles = [one for one in here if " and " not in one.change]
    return [*(singles or here), *sharded]


def _size(memory: Memory) -> str:
    return f"{size_of(memory.total)} ({size_of(memory.lower)} to {size_of(memory.upper)})"


def _verdict(memory: Memory, capacity: int) -> str:
    if memory.lower > capacity:
        return "does not fit in"
    if memory.total > capacity:
        return "is not likely to fit in"
    if fits(memory, capacity) is None:
        return "cannot say, the parts that are known fit in"
    return "fits in" if memory.upper <= capacity else "fits by the expected value, not by the upper, in"
