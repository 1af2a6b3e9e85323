"""The steps that change the model: each does what its upstream function does, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, TaskType, get_peft_model, prepare_model_for_kbit_training
from peft.utils import SAFETENSORS_WEIGHTS_NAME, set_peft_model_state_dict
from safetensors.torch import load_file
from torch import nn

from lora_spec.preparation.faults import fault
from lora_spec.preparation.peft_words import REFUSALS, refused
from lora_spec.rules.preparation import CHECKPOINTING_UNSUPPORTED
from lora_spec.spec.lora import Lora
from lora_spec.spec.prepare import GradientCheckpointing


def prepare_kbit(model: nn.Module) -> str:
    """``peft.prepare_model_for_kbit_training`` (PEFT 0.21.2): freeze, and norms to float32.

    Its own gradient checkpointing is left off: that is a step of its own here.
    """
    prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    return "froze the quantised base and raised its other weights to float32"


def enable_input_require_grads(model: Any) -> str:
    """``PreTrainedModel.enable_input_require_grads`` (transformers 5.24.0): the embeddings' output gets a gradient.

    A model without the method, one that is not from transformers, is left as it is.
    """
    if not hasattr(model, "enable_input_require_grads"):
        return "not a transformers model: nothing to enable"
    model.enable_input_require_grads()
    return "the embeddings' output requires a gradient"


def refuse_checkpointing(model: Any, settings: GradientCheckpointing | None) -> None:
    """Raise ``SpecError`` where gradient checkpointing is wanted and the model's class does not support it."""
    if settings is not None and not getattr(model, "supports_gradient_checkpointing", False):
        raise fault(
            CHECKPOINTING_UNSUPPORTED,
            f"{type(model).__name__} does not support gradient checkpointing",
            "set gradient_checkpointing to false",
            at=("prepare", "gradient_checkpointing"),
        )


def gradient_checkpointing(model: Any, settings: GradientCheckpointing) -> str:
    """``PreTrainedModel.activation_checkpointing_enable`` (transformers 5.24.0); older versions have its older name."""
    arguments = {"use_reentrant": settings.use_reentrant}
    if hasattr(model, "activation_checkpointing_enable"):
        model.activation_checkpointing_enable(arguments)
    else:
        model.gradient_checkpointing_enable(arguments)
    return f"activations are recomputed (use_reentrant: {str(settings.use_reentrant).lower()})"


def wrap_peft(model: nn.Module, config: Any, *, adapter_name: str, seed: int | None) -> Any:
    """``peft.get_peft_model`` (PEFT 0.21.2), which changes ``model`` in place.

    With a seed the new weights come from it and the process's random state stays as it was. Raises ``SpecError`` with
    PEFT's refusal; modules of ``model`` may have been replaced by then, so it is of no further use.
    """
    with _seeded(seed), _once_hooked(model):
        try:
            return get_peft_model(model, config, adapter_name=adapter_name)
        except REFUSALS as error:
            raise refused(error, changed=True) from error


def load_adapter(model: nn.Module, folder: Path, lora: Lora) -> Any:
    """``PeftModel.from_pretrained(..., is_trainable=True)`` (PEFT 0.21.2), which changes ``model`` in place.

    PEFT keeps modules_to_save in the base's dtype, which rounds what was saved in a wider one; such tensors are read
    again in their own. Raises ``SpecError`` with PEFT's refusal, as ``wrap_peft`` does.
    """
    with _once_hooked(model):
        try:
            wrapped = PeftModel.from_pretrained(
                model, str(folder), adapter_name=lora.adapter_name, is_trainable=True, torch_device=_device(model)
            )
        except REFUSALS as error:
            raise refused(error, changed=True) from error
    _read_unrounded(wrapped, folder, lora.adapter_name)
    return wrapped


def task_type(model: Any) -> str:
    """Turn a task type that is text into PEFT's enum, keeping what it says.

    ``adapter_config.json`` holds text; code that compares with ``TaskType`` by identity does not find it.
    """
    for config in model.peft_config.values():
        if isinstance(config.task_type, str) and not isinstance(config.task_type, TaskType):
            config.task_type = TaskType(config.task_type)
    return ", ".join(str(getattr(config.task_type, "value", None)) for config in model.peft_config.values())


def _read_unrounded(model: Any, folder: Path, adapter_name: str) -> None:
    saved = load_file(folder / SAFETENSORS_WEIGHTS_NAME, device=_device(model))
    widest = max((tensor.dtype for tensor in saved.values()), key=lambda dtype: dtype.itemsize)
    narrow = [p for p in model.parameters() if p.requires_grad and p.dtype.itemsize < widest.itemsize]
    if narrow:
        for parameter in narrow:
            parameter.data = parameter.data.to(widest)
        set_peft_model_state_dict(model, saved, adapter_name=adapter_name)


def _device(model: nn.Module) -> str:
    return str(next((p.device for p in model.parameters()), "cpu"))


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    if seed is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def _once_hooked(model: Any) -> Iterator[None]:
    """Remove the hooks that ``PeftModel.__init__`` doubles.

    With gradient checkpointing it calls ``enable_input_require_grads`` again (PEFT 0.21.2), and transformers forgets
    the first hooks without removing them.
    """
    before = getattr(model, "_require_grads_hooks", None)
    yield
    if before is not None and model._require_grads_hooks is not before:  # noqa: SLF001 - transformers has no other access
        for hook in before:
            hook.remove()
