"""Modules that are trained besides LoRA: `_set_trainable` and its wrappers (PEFT 0.21.2, `utils/other.py`).

Names are compared by their end, without regard to dots: ``norm`` is also the end of ``input_layernorm``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lora_spec.inventory.matching.graph import TUNERS, Node, Role, Tensor, find, put
from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.tree import Kind

Wrap = Callable[[str, Node], Node]
"""Makes the wrapper for the module of that name, or refuses."""

PARTS = (
    ".lora_dropout",
    ".lora_dropout.default",
    ".lora_A",
    ".lora_A.default",
    ".lora_B",
    ".lora_B.default",
    ".lora_embedding_A",
    ".lora_embedding_B",
    ".lora_magnitude_vector",
    ".lora_magnitude_vector.default",
)
"""Modules in a LoRA layer besides the base layer, in order (`LoraLayer`, PEFT 0.21.2)."""


def wrap_all(root: Node, entries: Sequence[str], role: Role, wrap: Wrap, prefix: str = "") -> list[tuple[str, str]]:
    """Wraps what ends with an entry; gives the names with the first entry that matched.

    ``prefix`` is what stands before the names when a task's class wraps once more from the outside.
    """
    ends = tuple(entries)
    wrapped = []
    for name in list(_names(root, ends, prefix)):
        key = prefix + name
        entry = next(entry for entry in ends if key.endswith(entry))
        outer, _, _ = name.rpartition(".")
        grandparent = find(root, outer.rpartition(".")[0]) if outer else root
        node = _target(root, name)
        if outer and grandparent.role in TUNERS:
            raise RefusedError(Reason.SAVED_IN_ADAPTER, "ValueError", name, entry)
        there = next((outer for outer in (grandparent, node) if outer.role is role), None)
        if there is None:
            put(root, name, wrap(name, node))
        elif role is Role.SAVED:
            _train_copy(there)
        wrapped.append((name, entry))
    return wrapped


def _target(root: Node, name: str) -> Node:
    part = next((part for part in PARTS if name.endswith(part)), None)
    if part is None:
        return find(root, name)
    inside = part.endswith(".default")
    return Node(Role.PART, Kind.OTHER if inside else Kind.CONTAINER)


def _names(root: Node, ends: tuple[str, ...], prefix: str) -> Iterator[str]:
    """The names to wrap, in order, those of an adapter's parts included."""
    parts = [part for part in PARTS if any(part.endswith(end) or end.endswith(part) for end in ends)]
    pending = [("", root)]
    while pending:
        name, node = pending.pop()
        if name and (prefix + name).endswith(ends):
            yield name
        start = f"{name}." if name else ""
        if parts and node.role in (Role.LORA, Role.PARAMETER):
            pending += [(name + part, _PART) for part in reversed(parts) if (prefix + name + part).endswith(ends)]
        pending += [(start + leaf, inner) for leaf, inner in reversed(node.children.items())]


_PART = Node(Role.PART, Kind.CONTAINER)


def save_module(name: str, node: Node, shared: Tensor | None = None) -> Node:
    """`ModulesToSaveWrapper`: trains a copy; a tied module gets a linear layer with the weight of the embedding's."""
    if node.kind is Kind.CONTAINER:
        raise RefusedError(Reason.SAVED_CONTAINER, "TypeError", name)
    if node.role in TUNERS:
        raise RefusedError(Reason.SAVED_ADAPTED, "TypeError", name)
    if shared is None:
        copy = node.copied()
    else:
        copy = Node(Role.PLAIN, Kind.LINEAR)
        copy.tensors["weight"] = shared
    wrapper = Node(Role.SAVED, Kind.OTHER)
    holder = Node(Role.PART, Kind.CONTAINER)
    holder.children["default"] = copy
    wrapper.children = {"original_module": node, "modules_to_save": holder}
    _train_copy(wrapper)
    return wrapper


def _train_copy(wrapper: Node) -> None:
    """`ModulesToSaveWrapper.update` and `.set_adapter`: also on a wrapper that is met again, wholly."""
    wrapper.children["original_module"].train(on=False)
    wrapper.children["modules_to_save"].train(on=True)
