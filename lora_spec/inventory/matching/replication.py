"""Layers used more than once: `replicate_layers` (PEFT 0.21.2, `tuners/tuners_utils.py`), on the tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.tree import Kind, Module, ModuleTree


def replicate(tree: ModuleTree, layer_map: tuple[tuple[int, int], ...]) -> ModuleTree:
    """The tree with the layers that ``layer_map`` gives; copies share their weights with what they are copies of."""
    if not layer_map:
        return tree
    stack = _stack(tree)
    count = sum(1 for module in tree.modules if module.name.rpartition(".")[0] == stack)
    numbers = [number for start, end in layer_map for number in range(start, end)]
    beyond = [str(number) for number in numbers if not -count <= number < count]
    if beyond:
        raise RefusedError(Reason.LAYER_OUT_OF_RANGE, "IndexError", *beyond)
    if not tree.is_pretrained_model:
        raise RefusedError(Reason.NO_LAYERS, "AttributeError")  # PEFT corrects the number of layers in the config
    copies = [(place, number % count) for place, number in enumerate(numbers)]
    ties: dict[str, str] = {}
    modules = tuple(_modules(tree, stack, copies, ties))
    return replace(tree, modules=modules, ties=_outside(tree, stack) | ties, aliases=_aliases(tree, stack))


def _stack(tree: ModuleTree) -> str:
    """Where the layers are: `(model.)*layers`, `encoder.layer` or `h`."""
    names = tree.by_name.keys() | tree.aliases.keys()
    prefix = ""
    while f"{prefix}model" in names:
        prefix += "model."
    if f"{prefix}bert" in names:
        prefix += "bert."
    for attributes in ("layers", "encoder.layer", "h"):
        name = prefix + attributes
        if name in names:
            name = tree.aliases.get(name, name)
            module = tree.by_name[name]
            if module.kind is not Kind.CONTAINER or module.class_name == "ModuleDict":
                break
            return name
    raise RefusedError(Reason.NO_LAYERS, "ValueError")


def _modules(tree: ModuleTree, stack: str, copies: list[tuple[int, int]], ties: dict[str, str]) -> Iterator[Module]:
    below = f"{stack}."
    first: dict[str, str] = {}
    for module in tree.modules:
        if not module.name.startswith(below):
            yield module
        if module.name != stack:
            continue
        for place, number in copies:
            old = f"{below}{number}"
            for inner in tree.below(old):
                name = f"{below}{place}{inner.name.removeprefix(old)}"
                _share(tree, inner, name, first, ties)
                yield inner._replace(name=name)


def _share(tree: ModuleTree, inner: Module, name: str, first: dict[str, str], ties: dict[str, str]) -> None:
    """A copy's parameters are those of the first copy."""
    for parameter, _ in inner.parameters:
        old = f"{inner.name}.{parameter}"
        old = tree.ties.get(old, old)
        new = f"{name}.{parameter}"
        if old in first:
            ties[new] = first[old]
        first.setdefault(old, new)


def _outside(tree: ModuleTree, stack: str) -> dict[str, str]:
    below = f"{stack}."
    return {name: first for name, first in tree.ties.items() if not name.startswith(below)}


def _aliases(tree: ModuleTree, stack: str) -> dict[str, str]:
    below = f"{stack}."
    return {a: n for a, n in tree.aliases.items() if not a.startswith(below) and not n.startswith(below)}
