"""Leave a model and the process's random state as they were, bit for bit."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from peft.utils import ModulesToSaveWrapper
from torch import nn


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Undo what a forward and backward pass leaves behind: gradients, buffers, random state and hooks on gradients.

    A pass does not write to parameters; hooks that step an optimizer when a gradient arrives would, so they are taken
    off meanwhile. Inside, every ``.grad`` is None.
    """
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers() if not buffer.is_meta]
    hooks = [(p, dict(p._post_accumulate_grad_hooks)) for p in model.parameters() if p._post_accumulate_grad_hooks]  # noqa: SLF001 - torch has no other access
    for parameter, _ in gradients:
        parameter.grad = None
    for parameter, _ in hooks:
        parameter._post_accumulate_grad_hooks.clear()  # noqa: SLF001
    try:
        with _same_randomness(), torch.enable_grad():
            yield
    finally:
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for buffer, value in buffers:
            if not torch.equal(buffer, value):
                with torch.no_grad():
                    buffer.copy_(value)
        for parameter, taken in hooks:
            parameter._post_accumulate_grad_hooks.update(taken)  # noqa: SLF001


@contextmanager
def _same_randomness() -> Iterator[None]:
    python, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - the state that others draw from
    try:
        with torch.random.fork_rng():  # the CPU's and every CUDA device's
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy_state)  # noqa: NPY002


def seeded(seed: int, like: torch.Tensor, scale: float) -> torch.Tensor:
    """Normal noise of the shape, dtype and device of ``like``, from a generator of its own."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(like.shape, generator=generator) * scale
    return noise.to(device=like.device, dtype=like.dtype)


def sharing_frozen(model: Any) -> Any:
    """A copy whose frozen weights are the original's memory; what trains and the buffers are copied."""
    memo: dict[int, Any] = {}
    storages: dict[int, torch.UntypedStorage] = {}
    for parameter in model.parameters():
        if type(parameter) is not nn.Parameter:
            memo[id(parameter)] = parameter  # quantised: never trains
        elif parameter.requires_grad:
            memo[id(parameter)] = _copied(parameter, storages)
        else:
            memo[id(parameter)] = nn.Parameter(parameter.detach(), requires_grad=False)
    for module in model.modules():
        # with ensure_weight_tying a LoRA layer keeps the views that it began with (PEFT 0.21.2), and views have no copy
        for view in (getattr(module, "kwargs", None) or {}).get("tied_adapter", {}).values():
            memo[id(view)] = view.detach()
    return copy.deepcopy(model, memo)


def bare_copy(model: Any) -> Any:
    """A copy of the base under ``model``, as it is now, that shares the frozen weights' memory.

    ``unload`` (PEFT 0.21.2) would leave what modules_to_save trained in the place of the base's own modules.
    """
    copied = sharing_frozen(model)
    for module in copied.modules():
        if isinstance(module, ModulesToSaveWrapper):
            for adapter in module.modules_to_save:
                module.modules_to_save[adapter] = module.original_module
    return copied.unload()


def _copied(parameter: nn.Parameter, storages: dict[int, torch.UntypedStorage]) -> nn.Parameter:
    """A copy that shares memory with the copies of those that ``parameter`` shares memory with."""
    original = parameter.untyped_storage()
    storage = storages.get(original.data_ptr())
    if storage is None:
        storage = storages[original.data_ptr()] = copy.deepcopy(original)
    empty = torch.empty(0, dtype=parameter.dtype, device=parameter.device)
    view = empty.set_(storage, parameter.storage_offset(), parameter.shape, parameter.stride())
    return nn.Parameter(view)
