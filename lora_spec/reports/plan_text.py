"""`plan` for people, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lora_spec.planning.memory import Memory
from lora_spec.planning.values import Group, LeftOut, Plan, PlanEntry
from lora_spec.spec.wording import counted

WIDTH = 80
GROUPS_SHOWN = 24


def plan_as_text(plan: Plan) -> str:
    """What is trained, by what, what is not, and what it takes."""
    blocks = [
        _head(plan),
        _entries(plan),
        _groups(plan),
        _left_out(plan),
        _memory(plan.memory),
        _steps(plan),
        _notes(plan),
    ]
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(block))) + "\n"


def _head(plan: Plan) -> Iterator[str]:
    yield from _wrapped(f"{plan.base_model}  ({plan.model_class or 'class not known'}, {_source(plan)})")
    if plan.trainable_parameters is not None and plan.all_parameters:
        percent = 100 * plan.trainable_parameters / plan.all_parameters
        yield (
            f"trainable params: {plan.trainable_parameters:,d} || all params: {plan.all_parameters:,d} || "
            f"trainable%: {percent:.4f}"
        )
    if plan.adapted_modules is not None and plan.lora:
        adapted = [counted(plan.adapted_modules, "module")] * bool(plan.adapted_modules or not plan.adapted_parameters)
        adapted += [counted(plan.adapted_parameters or 0, "parameter")] * bool(plan.adapted_parameters)
        size = f", adapter file {size_of(plan.adapter_bytes)}" if plan.adapter_bytes is not None else ""
        yield f"{' and '.join(adapted)} adapted{size}"


def _source(plan: Plan) -> str:
    words = {
        "catalogue": "structure from the catalogue",
        "cache": "structure built before",
        "built": "structure built now",
        "live": "structure of the model in memory",
        "unavailable": "structure not available",
    }
    return words[plan.model_source]


def _entries(plan: Plan) -> Iterator[str]:
    if not plan.entries:
        return
    yield f"{'entry':<40} {'matched':>8} {'layers':>12} {'trainable':>17}"
    for entry in plan.entries[:GROUPS_SHOWN]:
        yield _entry(entry)
    if len(plan.entries) > GROUPS_SHOWN:
        yield f"… and {len(plan.entries) - GROUPS_SHOWN} more entries (--json lists them)"


def _entry(entry: PlanEntry) -> str:
    name = _short(f"{entry.field}: {entry.entry}", 40)
    towers = "" if entry.towers in ((), ("language",)) else f"  {', '.join(entry.towers)}"
    trainable = f"{entry.trainable_parameters:,d}" if entry.trainable_parameters else ""
    line = f"{name:<40} {entry.matched:>8,d} {_short(entry.layers, 12):>12} {trainable:>17}"
    return (
        f"{line.rstrip()}{towers}"
        if len(line.rstrip() + towers) <= WIDTH
        else f"{line.rstrip()}\n    in {towers.strip()}"
    )


def _groups(plan: Plan) -> Iterator[str]:
    if not plan.groups:
        return
    yield f"{'adapted':<22} {'shape':>20} {'rank':>5} {'scale':>7} {'count':>6} {'layers':>14}"
    for group in plan.groups[:GROUPS_SHOWN]:
        yield _group(group)
    if len(plan.groups) > GROUPS_SHOWN:
        yield f"… and {len(plan.groups) - GROUPS_SHOWN} more kinds (--json lists them)"


def _group(group: Group) -> str:
    shape = " -> ".join(map(str, group.shape)) if len(group.shape) == 2 else " x ".join(map(str, group.shape))
    name = group.name if group.tower == "language" else f"{group.tower} {group.name}"
    return (
        f"{_short(name, 22):<22} {_short(shape, 20):>20} {group.rank:>5d} {group.scale:>7.4g} {group.modules:>6d} "
        f"{_short(group.layers, 14):>14}"
    ).rstrip()


def _left_out(plan: Plan) -> Iterator[str]:
    if not plan.left_out:
        return
    yield "not adapted"
    for left in plan.left_out[:GROUPS_SHOWN]:
        yield _left(left)
    if len(plan.left_out) > GROUPS_SHOWN:
        yield f"  … and {len(plan.left_out) - GROUPS_SHOWN} more kinds (--json lists them)"


def _left(left: LeftOut) -> str:
    name = left.name if left.tower == "language" else f"{left.tower} {left.name}"
    line = f"  {_short(name, 30):<30} {left.modules:>6,d} {_short(left.layers, 12):>12}"
    return f"{line} {left.reason}".rstrip()[:WIDTH]


def _memory(memory: Memory | None) -> Iterator[str]:
    if memory is None:
        return
    devices = "one device" if memory.devices == 1 else f"each of {memory.devices} devices"
    known = memory.activations is not None and memory.logits is not None
    yield f"memory on {devices}" + ("" if known else ", without the parts that are not known")
    for part in ("frozen", "adapter", "gradients", "optimizer", "transient", "activations", "logits"):
        value = getattr(memory, part)
        if value != 0:
            yield f"  {part:<14} {'not known' if value is None else size_of(value):>12}"
    yield f"  {'total':<14} {size_of(memory.total):>12}   ({size_of(memory.lower)} to {size_of(memory.upper)})"
    for note in memory.notes:
        yield from _wrapped(note, "  ")


def _steps(plan: Plan) -> Iterator[str]:
    if plan.lora:
        yield from _wrapped("steps: " + ", ".join(step.name for step in plan.steps))


def _notes(plan: Plan) -> Iterator[str]:
    for note in plan.notes:
        yield from _wrapped(f"note: {note}")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def size_of(count: int | None) -> str:
    """Bytes for people, in binary units."""
    if count is None:
        return "not known"
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"
