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


RULES = (HALF_PRECISION_ADAPTER, REENTRANT_DDP)
INSPECTIONS = (
    Inspection(
        (HALF_PRECISION_ADAPTER,),
        (("prepare", "dtype"), ("prepare", "adapter_dtype"), ("lora", "rank")),
        inspect_adapter_dtype,
    ),
    Inspection((REENTRANT_DDP,), (("prepare",),), inspect_checkpointing),
)
