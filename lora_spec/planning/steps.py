"""The steps that `prepare` will make for a spec, in order, with the reason of each."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.planning.values import PlannedStep
from lora_spec.spec.root import LoraSpec


def planned_steps(spec: LoraSpec) -> tuple[PlannedStep, ...]:
    """The names of INTERFACE, those that apply."""
    return tuple(PlannedStep(name, why) for name, why in _steps(spec))


def _steps(spec: LoraSpec) -> Iterator[tuple[str, str]]:
    yield "build", f"the base model, {spec.base_model}"
    if not spec.lora_on or spec.lora is None:
        return
    prepare = spec.prepare
    if spec.quantization is not None:
        yield "prepare_kbit", "freezes the quantised base and puts its norms in float32"
    yield "enable_input_require_grads", "checkpointed blocks need an input with a gradient"
    if prepare.gradient_checkpointing is not None:
        yield "gradient_checkpointing", "activations are computed again in the backward pass"
    if spec.lora.adapter_path is not None:
        yield "load_adapter", f"the adapter in {spec.lora.adapter_path}, trainable"
    else:
        yield "wrap_peft", "PEFT replaces each target by a layer with lora_A and lora_B"
    yield "task_type", "a task type that is text becomes PEFT's enum"
    yield "cast", _cast(spec)
    if prepare.fsdp is not None:
        yield "shard", f"{prepare.fsdp.strategy} over the devices"
        yield "load_weights", "into the shards"
    yield "verify", "proves what trains, that gradients reach it, dtypes, and the saved adapter"


def _cast(spec: LoraSpec) -> str:
    prepare = spec.prepare
    adapter = prepare.dtype if prepare.adapter_dtype == "auto" else prepare.adapter_dtype
    if prepare.cast_buffers:
        return f"the whole model to {'its own dtype' if prepare.dtype == 'auto' else prepare.dtype}, as verl does"
    return f"frozen weights to {prepare.dtype}, what trains to {adapter}"
