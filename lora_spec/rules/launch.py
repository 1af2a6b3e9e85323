"""Settings of `prepare` that break a launch, whatever the model."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Rule, Severity
from lora_spec.rules.inspection import Finding, Inspection, drafted
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

HALF_PRECISION_ADAPTER = Rule(
    "LS311",
    "half-precision-adapter",
    Severity.WARNING,
    "A gradient scaler, which float16 training needs, refuses float16 gradients, sometimes only after the first "
    "validation; without one they underflow.",
    "lora: {rank: 16, alpha: 32}\nprepare: {dtype: float16, adapter_dtype: float16}",
    "lora: {rank: 16, alpha: 32}\nprepare: {dtype: float16, adapter_dtype: float32}",
)
REENTRANT_DDP = Rule(
    "LS401",
    "reentrant-ddp",
    Severity.ERROR,
    "Reentrant checkpointing runs a part of the backward pass twice, so DDP sees parameters ready twice and stops at the "
    "first step.",
    "prepare: {gradient_checkpointing: {use_reentrant: true}, fsdp: {strategy: ddp}}",
    "prepare: {gradient_checkpointing: {use_reentrant: false}, fsdp: {strategy: ddp}}",
)

BASE_MODEL_ADDRESS = Rule(
    "LS312",
    "base-model-address",
    Severity.ERROR,
    "transformers finds a model by its hub id, owner/name, or in a local folder. It takes a web address, or an id with "
    "blanks around it, for a folder that is not there.",
    "base_model: https://huggingface.co/Qwen/Qwen2.5-0.5B\nlora: {rank: 16, alpha: 32}",
    "base_model: Qwen/Qwen2.5-0.5B\nlora: {rank: 16, alpha: 32}",
)
UNKNOWN_ATTENTION = Rule(
    "LS313",
    "unknown-attention",
    Severity.ERROR,
    "transformers knows an attention kernel by one exact name and stops while it builds the model for any other.",
    "base_model: tiny-qwen2\nprepare: {attn_implementation: flash_attn}",
    "base_model: tiny-qwen2\nprepare: {attn_implementation: flash_attention_2}",
)

_ATTENTION = {
    "flash": "flash_attention_2",
    "flashattention": "flash_attention_2",
    "flashattn": "flash_attention_2",
    "flashattention2": "flash_attention_2",
    "flashattn2": "flash_attention_2",
    "fa2": "flash_attention_2",
    "flashattention3": "flash_attention_3",
    "flashattn3": "flash_attention_3",
    "fa3": "flash_attention_3",
    "sdpa": "sdpa",
    "sdpaattention": "sdpa",
    "torchsdpa": "sdpa",
    "eager": "eager",
    "flex": "flex_attention",
    "flexattention": "flex_attention",
    "flexattn": "flex_attention",
}
"""What people call the kernels, less signs and capitals; a kernel of one's own has another name."""


def inspect_base_model(parsed: Parsed) -> Iterator[Finding]:
    """A web address, or blanks around the name."""
    path, written = ("base_model",), drafted(parsed).base_model
    meant = written.strip()
    for address in ("https://huggingface.co/", "http://huggingface.co/", "https://hf.co/", "huggingface.co/", "hf://"):
        meant = meant.removeprefix(address)
    name = parsed.places.name(path)
    if meant != written.strip():
        meant = "/".join(meant.split("?")[0].split("/")[:2])
        message = f"{name} is a web address, and models are found by their hub id"
    elif meant != written:
        message = f"{name} has blanks around the name"
    else:
        return
    fixes = parsed.places.replacement(path, meant)
    yield at_value(parsed.places, path, BASE_MODEL_ADDRESS, message, f"write {meant}", fixes)


def inspect_attention(parsed: Parsed) -> Iterator[Finding]:
    """A kernel under a name that is nearly transformers' own."""
    path, written = ("prepare", "attn_implementation"), drafted(parsed).prepare.attn_implementation
    word = "".join(char for char in (written or "").lower() if char.isalnum())
    meant = _ATTENTION.get(word)
    if meant is not None and meant != written:
        message = f"attn_implementation {written} is no name that transformers knows"
        fixes = parsed.places.replacement(path, meant)
        yield at_value(parsed.places, path, UNKNOWN_ATTENTION, message, f"write {meant}", fixes)


def inspect_adapter_dtype(parsed: Parsed) -> Iterator[Finding]:
    """Adapters in float16."""
    spec = drafted(parsed)
    prepare = spec.prepare
    dtype = prepare.dtype if prepare.adapter_dtype == "auto" else prepare.adapter_dtype
    if spec.lora_on and dtype == "float16":
        field = "dtype" if prepare.adapter_dtype == "auto" else "adapter_dtype"
        message = "the adapter would train in float16, which gradient scalers refuse"
        remedy = "keep the adapter in float32, or train in bfloat16"
        yield at_value(parsed.places, ("prepare", field), HALF_PRECISION_ADAPTER, message, remedy)


def inspect_checkpointing(parsed: Parsed) -> Iterator[Finding]:
    """Reentrant checkpointing under DDP."""
    prepare = drafted(parsed).prepare
    checkpointing = prepare.gradient_checkpointing
    if checkpointing and checkpointing.use_reentrant and prepare.fsdp and prepare.fsdp.strategy == "ddp":
        path = ("prepare", "gradient_checkpointing", "use_reentrant")
        message = "use_reentrant: true does not work with strategy: ddp"
        fixes = parsed.places.replacement(path, False)  # noqa: FBT003 - the value to write
        yield at_value(parsed.places, path, REENTRANT_DDP, message, "write use_reentrant: false", fixes)


RULES = (HALF_PRECISION_ADAPTER, BASE_MODEL_ADDRESS, UNKNOWN_ATTENTION, REENTRANT_DDP)
INSPECTIONS = (
    Inspection((BASE_MODEL_ADDRESS,), (("base_model",),), inspect_base_model),
    Inspection((UNKNOWN_ATTENTION,), (("prepare", "attn_implementation"),), inspect_attention),
    Inspection(
        (HALF_PRECISION_ADAPTER,),
        (("prepare", "dtype"), ("prepare", "adapter_dtype"), ("lora", "rank")),
        inspect_adapter_dtype,
    ),
    Inspection((REENTRANT_DDP,), (("prepare",),), inspect_checkpointing),
)
