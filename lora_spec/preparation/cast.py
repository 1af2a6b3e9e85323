"""Which weights are kept in which dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import torch
from peft import PeftModel
from torch import nn

from lora_spec.preparation.trainable_set import kept_frozen
from lora_spec.spec.root import LoraSpec

CASTABLE = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Quantised storage (integers, float8) is left alone: a cast would change what it means."""

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def wanted_dtypes(model: nn.Module, spec: LoraSpec) -> tuple[torch.dtype, torch.dtype]:
    """The dtype of the frozen weights and of those that train; `auto` is what the model has, and as the frozen ones.

    With ``cast_buffers`` the whole model goes to ``dtype``, adapters included.
    """
    prepare = spec.prepare
    frozen = present_dtype(model) if prepare.dtype == "auto" else DTYPES[prepare.dtype]
    if prepare.cast_buffers or prepare.adapter_dtype == "auto":
        return frozen, frozen
    return frozen, DTYPES[prepare.adapter_dtype]


def present_dtype(model: nn.Module) -> torch.dtype:
    """The dtype of the first floating frozen weight, as ``PreTrainedModel.dtype`` has it; float32 where none is."""
    frozen = (p.dtype for p in model.parameters() if not p.requires_grad and p.dtype in CASTABLE)
    anything = (p.dtype for p in model.parameters() if p.dtype in CASTABLE)
    return next(frozen, next(anything, torch.float32))


def cast(model: nn.Module, spec: LoraSpec) -> str:
    """Cast as ``spec.prepare`` says and say what was done.

    With ``cast_buffers`` this is verl's ``model.to(dtype)``: parameters and floating buffers alike. Otherwise frozen
    parameters go to ``dtype``, those that train (LoRA and modules_to_save alike) and a frozen factor beside them to
    ``adapter_dtype``, and buffers, such as rotary frequencies, keep their precision. A quantised base keeps what
    ``prepare_kbit`` gave it.
    """
    frozen, trained = wanted_dtypes(model, spec)
    if spec.prepare.cast_buffers:
        model.to(frozen)
        return f"the whole model, buffers included, to {_name(frozen)}"
    adapters = [p for p in model.parameters() if p.requires_grad]
    _cast_parameters(adapters, trained)
    did = f"{len(adapters)} parameters that train to {_name(trained)}"
    if spec.quantization is not None:
        return did
    beside = list(kept_frozen(model).values()) if isinstance(model, PeftModel) else []
    _cast_parameters(beside, trained)  # a LoRA layer casts its input once, for both factors
    besides = {id(p) for p in beside}
    base = [p for p in model.parameters() if not p.requires_grad and id(p) not in besides]
    _cast_parameters(base, frozen)
    return f"{did}, {len(base)} frozen ones to {_name(frozen)}"


def dtype_census(parameters: Iterable[torch.Tensor]) -> str:
    """How many tensors have which dtype: ``96 float32, 2 bfloat16``."""
    return ", ".join(f"{count} {_name(dtype)}" for dtype, count in Counter(p.dtype for p in parameters).most_common())


def _cast_parameters(parameters: Iterable[nn.Parameter], dtype: torch.dtype) -> None:
    for parameter in parameters:
        if parameter.dtype in CASTABLE:
            parameter.data = parameter.data.to(dtype)  # the same object, so that ties hold


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
