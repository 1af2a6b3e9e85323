"""Changes of a setup that take less memory, each with the memory that it would take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

from lora_spec.planning.memory import Memory, Run
from lora_spec.spec.prepare import Fsdp, GradientCheckpointing
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.root import LoraSpec

Estimate = Callable[[LoraSpec, Run], Memory]

WORLD_SIZES = (2, 4, 8, 16, 32, 64, 128, 256)


class Alternative(NamedTuple):
    """What to write instead, and the memory that it would take."""

    change: str
    memory: Memory


class _Change(NamedTuple):
    """One setting: its words, and the keys that it sets in `prepare`, in the root of the document and in the run."""

    words: str
    prepare: dict[str, Any] = {}  # noqa: RUF012 - never written to
    root: dict[str, Any] = {}  # noqa: RUF012
    run: dict[str, Any] = {}  # noqa: RUF012


def alternatives(spec: LoraSpec, run: Run, estimate: Estimate) -> Iterator[Alternative]:
    """What would take less by ``estimate``: single changes, pairs of them, then more devices."""
    changes = list(_changes(spec, run))
    for size in (1, 2):
        for chosen in combinations(changes, size):
            yield _made(chosen, spec, run, estimate)
    for devices in WORLD_SIZES:
        if devices > run.world_size:
            words = f"prepare.fsdp: {{strategy: fsdp2}} on {devices} devices"
            sharded = _Change(words, prepare={"fsdp": Fsdp(strategy="fsdp2")}, run={"world_size": devices})
            yield _made((sharded,), spec, run, estimate)


def _made(changes: tuple[_Change, ...], spec: LoraSpec, run: Run, estimate: Estimate) -> Alternative:
    for change in changes:
        prepare = spec.prepare.model_copy(update=change.prepare)
        spec = spec.model_copy(update={**change.root, "prepare": prepare})
        run = run._replace(**change.run)
    return Alternative(" and ".join(change.words for change in changes), estimate(spec, run))


def _changes(spec: LoraSpec, run: Run) -> Iterator[_Change]:
    if spec.prepare.gradient_checkpointing is None:
        yield _Change(
            "prepare.gradient_checkpointing: true", prepare={"gradient_checkpointing": GradientCheckpointing()}
        )
    if run.batch_size is not None and run.batch_size > 1:
        yield _Change("train.batch_size: 1", run={"batch_size": 1})
    if run.sequence_length is not None and run.sequence_length > 1024:
        half = run.sequence_length // 2
        yield _Change(f"train.sequence_length: {half}", run={"sequence_length": half})
    if run.optimizer == "adamw":
        yield _Change("train.optimizer: adamw_8bit", run={"optimizer": "adamw_8bit"})
    if spec.quantization is None:
        yield _Change("quantization: {bits: 4}", root={"quantization": Quantization(bits=4)})
