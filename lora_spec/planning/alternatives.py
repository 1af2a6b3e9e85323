"""Single changes of a setup that take less memory, each with the total that it would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lora_spec.planning.memory import Memory, Run
from lora_spec.spec.prepare import Fsdp, GradientCheckpointing
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.root import LoraSpec

Estimate = Callable[[LoraSpec, Run], Memory]


def alternatives(spec: LoraSpec, run: Run, estimate: Estimate) -> Iterator[tuple[str, int]]:
    """What would take less, and how much it would take, by ``estimate``."""
    for words, other, other_run in _changes(spec, run):
        yield words, estimate(other, other_run).upper


def _changes(spec: LoraSpec, run: Run) -> Iterator[tuple[str, LoraSpec, Run]]:
    prepare = spec.prepare
    if prepare.gradient_checkpointing is None:
        changed = prepare.model_copy(update={"gradient_checkpointing": GradientCheckpointing()})
        yield "prepare.gradient_checkpointing: true", spec.model_copy(update={"prepare": changed}), run
    if run.batch_size is not None and run.batch_size > 1:
        yield "batch_size: 1", spec, run._replace(batch_size=1)
    if run.sequence_length is not None and run.sequence_length > 1024:
        half = run.sequence_length // 2
        yield f"sequence_length: {half}", spec, run._replace(sequence_length=half)
    if run.optimizer == "adamw":
        yield "optimizer: adamw_8bit", spec, run._replace(optimizer="adamw_8bit")
    if spec.quantization is None:
        quantized = spec.model_copy(update={"quantization": Quantization(bits=4)})
        yield "quantization: {bits: 4}", quantized, run
    for size in (2, 4, 8, 16, 32, 64, 128, 256):
        if size > run.world_size:
            sharded = prepare.model_copy(update={"fsdp": Fsdp(strategy="fsdp2")})
            words = f"prepare.fsdp: {{strategy: fsdp2}} on {size} devices"
            yield words, spec.model_copy(update={"prepare": sharded}), run._replace(world_size=size)
