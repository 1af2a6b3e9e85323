"""Builds the tree of a document from what a reader meets, in order, and holds it to the limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from lora_spec.diagnostics import Diagnostic, DocumentPath, Range
from lora_spec.source.document import Entry, Mapping, Node, Scalar, Sequence
from lora_spec.source.faults import BAD_KEY, DOCUMENT_TOO_LARGE, DUPLICATE_KEY, UnreadableError, fault
from lora_spec.source.limits import MAX_DEPTH, MAX_KEY, MAX_NODES
from lora_spec.source.merging import is_merge, resolve_merges
from lora_spec.source.places import Places


class Built(NamedTuple):
    """A finished value: the tree, how many nodes it counts and how many levels it has."""

    node: Node
    nodes: int = 1
    height: int = 0


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not been met yet."""

    is_mapping: bool
    start: int
    flow: bool
    nodes_before: int
    end: int
    height: int = 1
    items: list[Node] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    keys: dict[str, Scalar] = field(default_factory=dict)
    key: Scalar | None = None
    at_key: bool = True


class TreeBuilder:
    """Takes scalars, starts and ends in the order of the text; ``root`` and ``diagnostics`` are the result.

    Offsets are those of the text of ``places``; without a text they are not looked at.
    """

    def __init__(self, places: Places | None) -> None:
        """Start an empty tree."""
        self.root: Node | None = None
        self.diagnostics: list[Diagnostic] = []
        self._places = places
        self._stack: list[_Open] = []
        self._nodes = 0

    def open(self, start: int = 0, *, is_mapping: bool, flow: bool = True) -> None:
        """A mapping or list starts.

        Raises:
            UnreadableError: The document is nested too deep or has too many values.
        """
        if len(self._stack) == MAX_DEPTH:
            self._refuse_depth(start)
        self._stack.append(_Open(is_mapping, start, flow, self._nodes, start))
        self._count(1, start)

    def close(self, end: int | None = None) -> Built:
        """The innermost mapping or list ends, at ``end`` or else with its last value."""
        done = self._stack.pop()
        stop = done.end if end is None else end
        place = self.range(done.start, stop)
        node: Node
        if done.is_mapping:
            entries, faults = resolve_merges(done.entries, self.path())
            self.diagnostics += faults
            node = Mapping(entries, place)
        else:
            node = Sequence(tuple(done.items), place, done.flow)
        built = Built(node, self._nodes - done.nodes_before, done.height)
        self._put(node, done.start, stop, done.height, None)
        return built

    def scalar(self, scalar: Scalar, start: int = 0, end: int = 0) -> None:
        """A leaf, or a key.

        Raises:
            UnreadableError: The document has too many values.
        """
        if not self.expects_key:
            self._count(1, start)
        self._put(scalar, start, end, 0, None)

    def alias(self, name: str, target: Built, start: int, end: int) -> None:
        """A value that stands elsewhere is repeated here.

        Raises:
            UnreadableError: The document gets nested too deep or has too many values by it.
        """
        if len(self._stack) + target.height > MAX_DEPTH:
            self._refuse_depth(start)
        node = target.node
        if self.expects_key and isinstance(node, Scalar):
            node = Scalar(
                node.text, self._places.text[start:end] if self._places else "", node.style, self.range(start, end)
            )
        else:
            self._count(target.nodes, start)
        self._put(node, start, end, target.height, name)

    @property
    def expects_key(self) -> bool:
        """Whether the next value is the key of a mapping."""
        return bool(self._stack) and self._stack[-1].is_mapping and self._stack[-1].at_key

    @property
    def depth(self) -> int:
        """How many mappings and lists are open."""
        return len(self._stack)

    def path(self) -> DocumentPath:
        """The path of the value that comes next, or of the mapping where a key comes next."""
        path: list[str | int] = []
        for level in self._stack:
            if not level.is_mapping:
                path.append(len(level.items))
            elif not level.at_key:
                path.append(level.key.text if level.key else "?")
        return tuple(path)

    def range(self, start: int, end: int) -> Range | None:
        """The range between two offsets, or None without a text."""
        return self._places.range(start, end) if self._places else None

    def _put(self, node: Node, start: int, end: int, height: int, alias: str | None) -> None:
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1]
        parent.end = end
        if height >= parent.height:
            parent.height = height + 1
        if not parent.is_mapping:
            parent.items.append(node)
        elif parent.at_key:
            parent.key = self._key(parent, node, start, end)
            parent.at_key = False
        else:
            if parent.key is not None:
                parent.entries.append(Entry(parent.key, node, alias))
            parent.at_key = True

    def _key(self, parent: _Open, node: Node, start: int, end: int) -> Scalar | None:
        if not isinstance(node, Scalar):
            self.diagnostics.append(_bad_key(node, self.path(), self.range(start, end)))
            return None
        if len(node.text) > MAX_KEY:
            message = f"the key `{node.text[:20]}...` has {len(node.text):,} characters, more than {MAX_KEY}"
            found = fault(DOCUMENT_TOO_LARGE, message, "shorten it", path=self.path(), place=node.range)
            self.diagnostics.append(found)
        if node.text in parent.keys and not is_merge(node):
            path = (*self.path(), node.text)
            self.diagnostics.append(_duplicate(parent.keys[node.text], node, path))
        parent.keys[node.text] = node
        return node

    def _count(self, nodes: int, start: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            message = f"the document has more than {MAX_NODES:,} values, what aliases repeat included"
            self._refuse(message, "name the config itself, not a data file; repeat less by aliases", start)

    def _refuse_depth(self, start: int) -> NoReturn:
        self._refuse(f"the document is nested more than {MAX_DEPTH} levels deep", "flatten it", start)

    def _refuse(self, message: str, remedy: str, start: int) -> NoReturn:
        place = self.range(start, start + 1)
        raise UnreadableError(fault(DOCUMENT_TOO_LARGE, message, remedy, path=self.path(), place=place))


def _bad_key(node: Mapping | Sequence, path: DocumentPath, place: Range | None) -> Diagnostic:
    kind = "mapping" if isinstance(node, Mapping) else "list"
    remedy = "write the key as text; put a template such as `{{ name }}` in quotes"
    return fault(BAD_KEY, f"a {kind} stands where a key is expected", remedy, path=path, place=place)


def _duplicate(first: Scalar, second: Scalar, path: DocumentPath) -> Diagnostic:
    where = ""
    if first.range and second.range:
        one, two = first.range.start.line, second.range.start.line
        where = f" on line {one}" if one == two else f", on lines {one} and {two}"
    remedy = "keep one of them; most readers take the last and say nothing"
    return fault(DUPLICATE_KEY, f"`{second.text}` is given twice{where}", remedy, path=path, place=second.range)
