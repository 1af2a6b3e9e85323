"""Wrap an empty copy of the model first: PEFT replaces modules before it has checked everything."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from peft import get_peft_model
from torch import nn

from lora_spec.preparation.peft_words import REFUSALS, refused
from lora_spec.spec.root import LoraSpec


def rehearse(model: nn.Module, spec: LoraSpec) -> None:
    """Raise PEFT's refusal to wrap ``model``, if it refuses, as ``SpecError`` while the model is still untouched.

    Everything that depends on names, classes and shapes is found. What depends on weights (an init by decomposition, a
    token index beyond the vocabulary) is not, and shows only when the model itself is wrapped. A quantised base is not
    rehearsed: its layers cannot be emptied.
    """
    try:
        config = spec.to_peft()
    except REFUSALS as error:
        if hasattr(error, "diagnostics"):
            raise
        raise refused(error, changed=False) from error
    if getattr(model, "is_quantized", False):
        return
    config.init_lora_weights = True  # the other inits read weights, and the copy has none
    state = torch.get_rng_state()  # the rehearsal must not shift what the caller's seed gives
    try:
        _wrap_silently(hollow(model), config)
    except REFUSALS as error:
        if "meta" not in str(error).lower():  # else it is the emptiness that was refused
            raise refused(error, changed=False) from error
    finally:
        torch.set_rng_state(state)


def hollow(model: nn.Module) -> nn.Module:
    """A copy of ``model`` on the meta device: the same names, classes and shapes, no weights and no memory."""
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, requires_grad=parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def _wrap_silently(model: nn.Module, config: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same warnings come again, and are kept, when the model is wrapped
        get_peft_model(model, config, low_cpu_mem_usage=True)
