"""What FSDP would shard as one unit: the model's blocks, and the root with what no block holds."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from lora_spec.inventory.tree import ModuleTree, Shape


class Unit(NamedTuple):
    """A unit and the shapes of the parameters that it, and no unit inside it, holds. The root's name is empty."""

    name: str
    shapes: tuple[Shape, ...]

    @property
    def parameters(self) -> int:
        """How many parameters the unit holds."""
        return sum(map(prod, self.shapes))


def plan_units(tree: ModuleTree, wrap_classes: tuple[str, ...] | None) -> tuple[Unit, ...]:
    """The units of ``tree``, the root first; by default the model's own classes are wrapped."""
    classes = set(tree.wrap_classes if wrap_classes is None else wrap_classes)
    names = {module.name for module in tree.modules if module.class_name in classes and module.name}
    shapes: dict[str, list[Shape]] = {"": [], **{module.name: [] for module in tree.modules if module.name in names}}
    for name, shape in tree.parameters():
        shapes[_owner(name, names)].append(shape)
    return tuple(Unit(name, tuple(owned)) for name, owned in shapes.items())


def _owner(parameter: str, units: set[str]) -> str:
    """The innermost unit around a parameter."""
    name = parameter
    while name := name.rpartition(".")[0]:
        if name in units:
            return name
    return ""


def sharded(shapes: tuple[Shape, ...], shards: int) -> int:
    """Parameters on the rank that holds most: FSDP2 splits dimension 0 by ``torch.chunk``."""
    return sum(-(-shape[0] // shards) * prod(shape[1:]) if shape else 1 for shape in shapes)
