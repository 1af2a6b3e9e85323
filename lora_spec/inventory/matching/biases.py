"""Biases of the base model that train along: `BaseTuner._mark_only_adapters_as_trainable` (PEFT 0.21.2)."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.inventory.matching.graph import Node, Role, Tensor, walk
from lora_spec.inventory.matching.result import Biases
from lora_spec.inventory.matching.settings import Settings


def train_biases(root: Node, settings: Settings) -> Biases:
    """Makes them trainable; gives their names, each parameter once, as the base model has them."""
    if settings.bias == "none":
        return Biases()
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in _biases(root, only_adapted=settings.bias != "all"):
        tensor.trainable = True
        found.setdefault(id(tensor), (name, tensor))
    names = tuple(name for name, _ in found.values())
    return Biases(names, sum(tensor.size for _, tensor in found.values()))


def _biases(root: Node, *, only_adapted: bool) -> Iterator[tuple[str, Tensor]]:
    for name, node in walk(root):
        holder = node
        if only_adapted:
            if node.role not in (Role.LORA, Role.PARAMETER):
                continue
            holder = node.base
        bias = holder.tensors.get("bias")
        if bias is not None:
            yield f"{name.replace('.base_layer', '')}.bias".lstrip("."), bias
