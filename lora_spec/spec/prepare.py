"""The `prepare` section: how the model is made ready to train."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from lora_spec.base import StrictModel
from lora_spec.spec.targets import Names

Dtype: TypeAlias = Literal["bfloat16", "float16", "float32"]
DtypeOrAuto: TypeAlias = Literal["bfloat16", "float16", "float32", "auto"]


class GradientCheckpointing(StrictModel):
    """Recompute activations in the backward pass."""

    use_reentrant: bool = False
    """The older, reentrant form; it needs input gradients and does not work with DDP."""


def _expand_checkpointing(value: Any) -> Any:
    if isinstance(value, bool):
        return GradientCheckpointing() if value else None
    if isinstance(value, (dict, GradientCheckpointing)) or value is None:
        return value
    raise PydanticCustomError("shape", "true, false, or {use_reentrant: false}")


class Fsdp(StrictModel):
    """How the model is spread over devices."""

    strategy: Literal["fsdp2", "fsdp1", "ddp"]
    """`fsdp2` (PyTorch's `fully_shard`), `fsdp1` (`FullyShardedDataParallel`), or `ddp`."""
    wrap_classes: Names | None = None
    """Module classes that become a unit of their own. Absent: the model's own."""
    replicate: Annotated[int, Field(ge=1)] | None = None
    """Replicas of a 2-D mesh."""
    shard: Annotated[int, Field(ge=1)] | None = None
    """Shards of a 2-D mesh."""
    reshard_after_forward: bool = True
    """Free a unit's full parameters after its forward pass."""
    cpu_offload: bool = False
    """Keep the shards in host memory."""
    param_dtype: Dtype | None = None
    """Dtype that parameters are gathered in. Absent: as stored."""
    reduce_dtype: Dtype | None = None
    """Dtype that gradients are reduced in. Absent: as the gradients."""


class Prepare(StrictModel):
    """Steps on the model before training. `enable_input_require_grads` always runs with LoRA."""

    dtype: DtypeOrAuto = "bfloat16"
    """Dtype of the frozen weights. `auto`: what a model that you pass already has; PyTorch's default, float32, for
    one that is loaded here."""
    adapter_dtype: DtypeOrAuto = "float32"
    """Dtype of the weights that train. `auto`: as `dtype`."""
    cast_buffers: bool = False
    """Cast buffers (rotary frequencies) to `dtype` too, as verl's `model.to(dtype)` does; it costs precision."""
    gradient_checkpointing: Annotated[GradientCheckpointing | None, BeforeValidator(_expand_checkpointing)] = None
    """Recompute activations in the backward pass: `true`, or `{use_reentrant: false}`."""
    attn_implementation: Annotated[str, Field(min_length=1)] | None = None
    """Attention kernel, as transformers names it: `sdpa`, `flash_attention_2`, `eager`."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    """Seed of the new adapter's weights."""
    device: (
        Annotated[
            str, Field(pattern=r"^(cpu|cuda|mps|xpu|hpu|mtia|xla|npu|mlu|musa|hip|ipu|maia|privateuseone)(:[0-9]+)?$")
        ]
        | None
    ) = None
    """Where the model goes: `cpu`, `cuda`, `cuda:1`, `mps`. Absent: CUDA where there is one, else the CPU."""
    fsdp: Fsdp | None = None
    """Spread the model over many devices. Absent: one device."""
