"""A model that changes: PEFT replaces modules one after the other, and later steps see what earlier ones put there.

A wrapper hides a module behind new names, copies share nothing with what they copy, tied weights are one parameter
under two names. To count as PEFT does, the steps are repeated on nodes that stand for modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from math import prod

from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.tree import Kind, Module, ModuleTree, Shape


class Role(Enum):
    """What a node stands for: a module of the model, or what PEFT puts around one."""

    PLAIN = auto()
    LORA = auto()
    PARAMETER = auto()
    SAVED = auto()
    TOKENS = auto()
    TOKEN_ADAPTER = auto()
    PART = auto()


TUNERS = (Role.LORA, Role.PARAMETER, Role.TOKEN_ADAPTER)
"""Roles whose class derives from `BaseTunerLayer` (PEFT 0.21.2)."""


class Tensor:
    """One parameter, however many names it has."""

    __slots__ = ("shape", "trainable")

    def __init__(self, shape: Shape, *, trainable: bool = False) -> None:
        """Frozen unless said otherwise."""
        self.shape = shape
        self.trainable = trainable

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


class Node:
    """A module as it is now."""

    __slots__ = ("children", "kind", "module", "role", "tensors")

    def __init__(self, role: Role, kind: Kind, module: Module | None = None) -> None:
        """Start without children."""
        self.role = role
        self.kind = kind
        self.module = module
        self.children: dict[str, Node] = {}
        self.tensors: dict[str, Tensor] = {}

    def child(self, name: str) -> Node | None:
        """The module that an attribute gives: a wrapper of a saved module passes on to its copy, adapted attention has
        a property for its output (`MultiheadAttention.out_proj`, PEFT 0.21.2).
        """
        if self.role is Role.LORA and self.kind is Kind.ATTENTION and name == "out_proj":
            return self.children["base_layer"].children[name].base
        if name in self.children:
            return self.children[name]
        if self.role is Role.SAVED:
            return self.children["modules_to_save"].children["default"].child(name)
        return None

    @property
    def base(self) -> Node:
        """The module under its adapters: `BaseTunerLayer.get_base_layer()`."""
        node = self
        while "base_layer" in node.children:
            node = node.children["base_layer"]
        return node

    def modules(self) -> Iterator[Node]:
        """The node and all below it, each once."""
        seen: set[Node] = set()
        pending = [self]
        while pending:
            node = pending.pop()
            if node not in seen:
                seen.add(node)
                yield node
                if node.children:
                    pending += node.children.values()

    def parameters(self) -> Iterator[Tensor]:
        """Every parameter below it, each once."""
        return iter({tensor: None for node in self.modules() for tensor in node.tensors.values()})

    def train(self, *, on: bool) -> None:
        """Sets `requires_grad` of all its parameters."""
        for tensor in self.parameters():
            tensor.trainable = on

    def copied(self) -> Node:
        """`copy.deepcopy`: what was shared inside is shared inside the copy."""
        return self._copied({}, {})

    def _copied(self, nodes: dict[int, Node], tensors: dict[int, Tensor]) -> Node:
        if id(self) in nodes:
            return nodes[id(self)]
        copy = nodes[id(self)] = Node(self.role, self.kind, self.module)
        for name, tensor in self.tensors.items():
            same = tensors.setdefault(id(tensor), Tensor(tensor.shape, trainable=tensor.trainable))
            copy.tensors[name] = same
        copy.children = {name: node._copied(nodes, tensors) for name, node in self.children.items()}  # noqa: SLF001
        return copy


def graph_of(tree: ModuleTree) -> Node:
    """The model before PEFT touches it."""
    nodes: dict[str, Node] = {}
    tensors: dict[str, Tensor] = {}
    for module in tree.modules:
        node = nodes[module.name] = Node(Role.PLAIN, module.kind, module)
        prefix = f"{module.name}." if module.name else ""
        for name, shape in module.parameters:
            full = prefix + name
            node.tensors[name] = tensors.setdefault(tree.ties.get(full, full), Tensor(shape))
        if module.name:
            parent, _, leaf = module.name.rpartition(".")
            nodes[parent].children[leaf] = node
    for alias, name in tree.aliases.items():
        parent, _, leaf = alias.rpartition(".")
        nodes[tree.aliases.get(parent, parent)].children[leaf] = nodes[name]
    return nodes[""]


def find(root: Node, name: str) -> Node:
    """`Module.get_submodule`; refuses where a wrapper does not pass a name on."""
    node = root
    for part in name.split(".") if name else ():
        inner = node.child(part)
        if inner is None:
            raise RefusedError(Reason.LOST_MODULE, "AttributeError", name)
        node = inner
    return node


def name_now(root: Node, name: str) -> str:
    """The name under which `named_modules` has what `get_submodule` finds by ``name``: copies have longer ones."""
    node, path = root, []
    for part in name.split(".") if name else ():
        if node.role is Role.SAVED and part not in node.children:
            path += ["modules_to_save", "default"]
        inner = node.child(part)
        if inner is None:
            raise RefusedError(Reason.LOST_MODULE, "AttributeError", name)
        node = inner
        path.append(part)
    return ".".join(path)


def placed(root: Node, name: str) -> tuple[Node, Node]:
    """The module that holds the one of this name, and that one: `_get_submodules` (PEFT 0.21.2, `utils/other.py`)."""
    outer, _, leaf = name.rpartition(".")
    parent = find(root, outer)
    node = parent.child(leaf)
    if node is None:
        raise RefusedError(Reason.LOST_MODULE, "AttributeError", name)
    return parent, node


def put(root: Node, name: str, node: Node) -> None:
    """Puts a node in the place of the one that has this name."""
    outer, _, leaf = name.rpartition(".")
    find(root, outer).children[leaf] = node


def walk(root: Node) -> Iterator[tuple[str, Node]]:
    """`named_modules(remove_duplicate=False)`, without the insides of adapters (`parts_of` has those)."""
    pending = [("", root)]
    while pending:
        name, node = pending.pop()
        yield name, node
        prefix = f"{name}." if name else ""
        pending += [(prefix + leaf, inner) for leaf, inner in reversed(node.children.items())]
