"""Find the layers that a model goes around: it reads the weight itself, and the adapter is never called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from lora_spec.preparation.cast import CASTABLE
from lora_spec.preparation.probe import run
from lora_spec.preparation.untouched import seeded


def bypassed(model: Any, layers: dict[str, Any], batch: dict[str, torch.Tensor]) -> list[str]:
    """Those of ``layers`` whose base weight the output depends on, found by a gradient that comes to the weight.

    Layers that nothing came to stay out: neither they nor their weights were used. The gradients are dropped as they
    arrive, so that no more than one is held.
    """
    weights = {name: weight for name, layer in layers.items() if (weight := _base_weight(layer)) is not None}
    with _asking(weights) as found:
        output = run(model, batch)
        if output.requires_grad:
            torch.autograd.backward(output, seeded(0, output, output.numel() ** -0.5))
    return [name for name in weights if name in found]


def _base_weight(layer: Any) -> nn.Parameter | None:
    base = layer.get_base_layer() if hasattr(layer, "get_base_layer") else None
    weight = getattr(base, "weight", None)
    usable = isinstance(weight, nn.Parameter) and weight.dtype in CASTABLE and not weight.requires_grad
    return weight if usable else None


@contextmanager
def _asking(weights: dict[str, nn.Parameter]) -> Iterator[set[str]]:
    """Let the frozen ``weights`` ask for a gradient meanwhile; yields the names of those that get one."""
    found: set[str] = set()
    handles = []
    for name, weight in weights.items():
        weight.requires_grad_()
        handles.append(weight.register_post_accumulate_grad_hook(_noting(name, found)))  # type: ignore[no-untyped-call]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
        for weight in weights.values():
            weight.requires_grad = False
            weight.grad = None


def _noting(name: str, found: set[str]) -> Any:
    def note(weight: torch.Tensor) -> None:
        if weight.grad is not None and bool(weight.grad.any()):
            found.add(name)
        weight.grad = None

    return note
