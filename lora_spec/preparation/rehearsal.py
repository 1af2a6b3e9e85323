"""Wrap an empty copy of the model first: PEFT replaces modules before it has checked everything."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import torch
from peft import PeftConfig, PeftType, get_peft_model
from peft.utils import SAFETENSORS_WEIGHTS_NAME, set_peft_model_state_dict
from safetensors import SafetensorError, safe_open
from torch import nn

from lora_spec.diagnostics import SpecError
from lora_spec.inventory.live import tree_of
from lora_spec.preparation.adapter_folder import AT
from lora_spec.preparation.faults import fault
from lora_spec.preparation.peft_config import peft_config
from lora_spec.preparation.peft_words import REFUSALS, refused
from lora_spec.rules.preparation import ADAPTER_UNREADABLE
from lora_spec.spec.root import LoraSpec


def rehearse_new(model: nn.Module, spec: LoraSpec) -> None:
    """Raise PEFT's refusal to wrap ``model``, if it refuses, as ``SpecError`` while the model is still untouched.

    Everything that depends on names, classes and shapes is found. What depends on weights (an init by decomposition, a
    token index beyond the vocabulary) is not, and shows only when the model itself is wrapped. A quantised base is not
    rehearsed: its layers cannot be emptied.
    """
    try:
        config = peft_config(spec, tree_of(model))
    except SpecError:
        raise
    except REFUSALS as error:
        raise refused(error, changed=False) from error
    _rehearse(model, config)


def rehearse_loading(model: nn.Module, folder: Path) -> None:
    """Raise ``SpecError`` where the adapter in ``folder`` does not fit ``model``, while the model is still untouched.

    ``PeftModel.from_pretrained`` (PEFT 0.21.2) only warns of weights that the adapter lacks, and trains new ones; of
    weights that fit nowhere it says nothing.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again, and are kept, when the adapter is loaded
            config = PeftConfig.from_pretrained(str(folder))
    except REFUSALS as error:
        words = f"PEFT cannot read the adapter's config: {type(error).__name__}: {error}"
        raise fault(ADAPTER_UNREADABLE, words, "continue a LoRA adapter that save_pretrained wrote", at=AT) from error
    if config.peft_type != PeftType.LORA:
        words = f"the adapter is {config.peft_type.value}, not LoRA"
        raise fault(ADAPTER_UNREADABLE, words, "continue a LoRA adapter, or train a new one", at=AT)
    config.inference_mode = False
    wrapped = _rehearse(model, config)
    saved = _shapes(folder)
    if wrapped is None:
        return
    try:
        result = set_peft_model_state_dict(wrapped, saved)
    except REFUSALS as error:
        raise fault(
            ADAPTER_UNREADABLE,
            f"the adapter does not fit the model: {' '.join(str(error).split())[:500]}",
            "name the base model that it was trained on",
            at=AT,
        ) from error
    _refuse_misfits(result)


def hollow(model: nn.Module) -> nn.Module:
    """A copy of ``model`` on the meta device: the same names, classes and shapes, no weights and no memory."""
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, requires_grad=parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def _rehearse(model: nn.Module, config: Any) -> Any:
    """The wrapped copy; None where emptiness itself was the obstacle."""
    if getattr(model, "is_quantized", False):
        return None
    if hasattr(config, "init_lora_weights"):
        config.init_lora_weights = True  # the other inits read weights, and the copy has none
    try:
        empty = hollow(model)
    except (TypeError, RuntimeError):  # it holds what cannot be copied: a lock, a tensor with a history
        return None
    state = torch.get_rng_state()  # the rehearsal must not shift what the caller's seed gives
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same warnings come again, and are kept, when the model is wrapped
            return get_peft_model(empty, config, low_cpu_mem_usage=True)
    except REFUSALS as error:
        if "meta" in str(error).lower():
            return None
        raise refused(error, changed=False) from error
    finally:
        torch.set_rng_state(state)


def _shapes(folder: Path) -> dict[str, torch.Tensor]:
    try:
        with safe_open(folder / SAFETENSORS_WEIGHTS_NAME, framework="pt") as file:
            shapes = {key: file.get_slice(key).get_shape() for key in file.keys()}  # noqa: SIM118 - not a dict
    except SafetensorError as error:
        words = f"cannot read {SAFETENSORS_WEIGHTS_NAME}: {error}"
        raise fault(ADAPTER_UNREADABLE, words, "check that the adapter was saved to its end", at=AT) from error
    return {key: torch.empty(shape, device="meta") for key, shape in shapes.items()}


def _refuse_misfits(result: Any) -> None:
    missing = [key for key in result.missing_keys if "lora_" in key]
    surplus = list(result.unexpected_keys)
    for keys, words in ((missing, "lacks weights for"), (surplus, "has weights that fit nowhere in the model, for")):
        if keys:
            raise fault(
                ADAPTER_UNREADABLE,
                f"the adapter {words} {keys[0]} ({len(keys)} in all)",
                "name the base model that it was trained on, or train a new adapter",
                at=AT,
            )
