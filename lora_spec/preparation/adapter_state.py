"""The adapter's tensors and config, as PEFT saves them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from peft import PeftModel
from peft.utils import get_peft_model_state_dict
from torch import nn
from transformers import AutoConfig

from lora_spec.preparation.hub import offline


def iter_adapter_state(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The active adapter's tensors under the names that PEFT saves them by, one at a time, in the names' order.

    As ``get_peft_model_state_dict`` (PEFT 0.21.2) chooses them with ``save_embedding_layers="auto"``, but without
    asking the hub: whether the vocabulary was resized is found from the base model's config where that is here.

    Raises:
        TypeError: ``model`` has no PEFT adapter.
    """
    wrapped = adapted(model)
    adapter = active_adapter(wrapped)
    embeddings: bool | str = True if _vocabulary_resized(wrapped, adapter) else "auto"
    with offline(), warnings.catch_warnings():
        # only that it asks whether the vocabulary was resized, which is answered above
        warnings.filterwarnings("ignore", message="Could not find a config file in .* will assume that the vocabulary")
        state = get_peft_model_state_dict(wrapped, adapter_name=adapter, save_embedding_layers=embeddings)
    for name in sorted(state):
        yield name, state[name].detach()


def adapter_config(model: nn.Module) -> dict[str, Any]:
    """The content of ``adapter_config.json``, in an order that does not change from run to run.

    As ``PeftModel.save_pretrained`` and ``PeftConfig.save_pretrained`` (PEFT 0.21.2) write it; PEFT turns its sets into
    lists in whatever order they have.
    """
    wrapped = adapted(model)
    original = wrapped.peft_config[active_adapter(wrapped)]
    config = copy.copy(original)
    config.inference_mode = True
    if not config.base_model_name_or_path:
        config.base_model_name_or_path = getattr(wrapped.get_base_model(), "name_or_path", None) or None
    content: dict[str, Any] = {key: _plain(value) for key, value in config.to_dict().items()}
    if config.task_type is None:  # how PEFT finds the class to load the base with
        base = type(wrapped.get_base_model())
        content["auto_mapping"] = {"base_model_class": base.__name__, "parent_library": base.__module__}
    return content


def adapted(model: nn.Module) -> Any:
    """``model`` itself, if PEFT has wrapped it; raises TypeError if not."""
    if not isinstance(model, PeftModel):
        raise TypeError(f"{type(model).__name__} has no adapter: wrap it with prepare or peft.get_peft_model first")
    return model


def active_adapter(model: Any) -> str:
    """The name of the adapter that trains."""
    name: str = model.active_adapters[0]
    return name


def _vocabulary_resized(model: Any, adapter: str) -> bool:
    config, source = getattr(model, "config", None), model.peft_config[adapter].base_model_name_or_path
    present = getattr(config, "vocab_size", None)
    if not source or present is None or model.peft_config[adapter].trainable_token_indices is not None:
        return False
    try:
        with offline():
            known = AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError):
        return False  # the base's config is not here; PEFT assumes the same
    return bool(getattr(known, "vocab_size", present) != present)


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
