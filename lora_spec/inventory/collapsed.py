"""A module tree as a small JSON value: equal subtrees are written once, runs of equal layers as a range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lora_spec.inventory.tree import Kind, Module, ModuleTree, Numbers

FORMAT = 1
"""Of what is written here; another number is not read."""

_HEADER = (
    "model_type",
    "model_class",
    "aliases",
    "ties",
    "tied_modules",
    "input_embeddings",
    "output_embeddings",
    "is_pretrained_model",
    "wrap_classes",
    "tie_word_embeddings",
    "quantization",
    "note",
)


def collapse(tree: ModuleTree) -> dict[str, Any]:
    """``tree`` in builtin types; ``expand`` gives it back."""
    children: dict[str, list[str]] = {}
    for module in tree.modules[1:]:
        children.setdefault(module.name.rpartition(".")[0], []).append(module.name)
    nodes = _Nodes()
    root = _collapse(tree.modules[0].name, tree, children, nodes)
    header = {name: getattr(tree, name) for name in _HEADER}
    return {"format": FORMAT, **header, "numbers": list(tree.numbers), "nodes": nodes.values, "root": root}


class _Nodes:
    """Subtrees by value: an equal one gets the same number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def add(self, node: list[Any]) -> int:
        key = repr(node)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(node)
        return self._numbers[key]


def _collapse(name: str, tree: ModuleTree, children: dict[str, list[str]], nodes: _Nodes) -> int:
    module = tree.by_name[name]
    below = [(child.rpartition(".")[2], _collapse(child, tree, children, nodes)) for child in children.get(name, ())]
    parameters = [[key, *shape] for key, shape in module.parameters]
    buffers = [[key, *shape] for key, shape in module.buffers]
    extra = [module.groups, module.transposed] if module.groups != 1 or module.transposed else []
    return nodes.add([module.class_name, module.kind.value, parameters, buffers, list(_runs(below)), *extra])


def _runs(children: list[tuple[str, int]]) -> Iterator[list[Any]]:
    """``[name, node]``, or ``[first, last, node]`` for numbered children in a row that are equal."""
    run: list[Any] = []
    for name, node in children:
        if run and name.isdigit() and node == run[2] and int(name) == run[1] + 1:
            run[1] += 1
            continue
        if run:
            yield run
        run = [int(name), int(name), node] if name.isdigit() and str(int(name)) == name else []
        if not run:
            yield [name, node]
    if run:
        yield run


def expand(value: dict[str, Any]) -> ModuleTree:
    """The tree that ``collapse`` wrote; ValueError for another format."""
    if value.get("format") != FORMAT:
        raise ValueError(f"a tree of format {value.get('format')}, not {FORMAT}")
    modules = tuple(_expand("", value["root"], value["nodes"]))
    header = {name: value[name] for name in _HEADER}
    for name in ("tied_modules", "wrap_classes"):
        header[name] = tuple(header[name])
    return ModuleTree(modules=modules, numbers=Numbers(*value["numbers"]), **header)


def _expand(name: str, number: int, nodes: list[Any]) -> Iterator[Module]:
    class_name, kind, parameters, buffers, children, *extra = nodes[number]
    groups, transposed = extra or (1, False)
    yield Module(name, class_name, Kind(kind), _shapes(parameters), _shapes(buffers), groups, transposed)
    prefix = f"{name}." if name else ""
    for child in children:
        *names, node = child
        for key in names if len(names) == 1 else range(names[0], names[1] + 1):
            yield from _expand(f"{prefix}{key}", node, nodes)


def _shapes(written: list[Any]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, tuple(shape)) for name, *shape in written)
