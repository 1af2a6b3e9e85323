"""What a file says, with the place of every key and value, before anyone decides what a scalar means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeAlias

from lora_spec.diagnostics import Diagnostic, DocumentPath, Range


class Style(StrEnum):
    """How a scalar is written.

    ``JSON``: a number, true, false or null of a JSON text, where only one reading exists. ``VALUE``: no text at all,
    the scalar is a Python value from a dict.
    """

    PLAIN = "plain"
    QUOTED = "quoted"
    BLOCK = "block"
    JSON = "json"
    VALUE = "value"


class Scalar(NamedTuple):
    """A leaf.

    ``text`` is what it says without quotes and escapes; ``raw`` the characters in the file, without anchor and tag;
    ``tag`` an explicit YAML tag (``!!int``, ``!mine``) or None; ``value`` the Python value where ``style`` is
    ``VALUE`` or ``JSON``, else None.
    """

    text: str
    raw: str
    style: Style
    range: Range | None
    tag: str | None = None
    value: bool | float | str | None = None


class Entry(NamedTuple):
    """One ``key: value`` of a mapping. ``alias`` names the anchor when the value was written as ``*alias``."""

    key: Scalar
    value: Node
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """Entries in the order of the file, merge keys resolved, no key twice."""

    entries: tuple[Entry, ...]
    range: Range | None
    _by_key: dict[str, Entry] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the entries by their keys."""
        object.__setattr__(self, "_by_key", {entry.key.text: entry for entry in self.entries})

    def get(self, key: str) -> Node | None:
        """The value under ``key``, or None."""
        entry = self._by_key.get(key)
        return entry.value if entry else None

    def entry(self, key: str) -> Entry | None:
        """The entry of ``key``, or None."""
        return self._by_key.get(key)

    def keys(self) -> tuple[str, ...]:
        """The keys, in order."""
        return tuple(entry.key.text for entry in self.entries)


class Sequence(NamedTuple):
    """Items in order. ``flow`` when written in brackets (JSON always is)."""

    items: tuple[Node, ...]
    range: Range | None
    flow: bool = True


Node: TypeAlias = Scalar | Mapping | Sequence


@dataclass(frozen=True, slots=True)
class Document:
    """One file, text or Python value as it was read.

    ``root`` is None when nothing could be read; ``diagnostics`` then says why. ``folder`` is where relative paths
    start. ``text`` is without a byte order mark. ``format`` is ``yaml``, ``json`` or ``value``. ``comments`` are the
    comment lines above the first key, without the ``#`` and outer blanks.
    """

    root: Node | None
    path: str | None = None
    folder: Path = field(default_factory=Path)
    text: str = ""
    format: str = "yaml"
    diagnostics: tuple[Diagnostic, ...] = ()
    comments: tuple[str, ...] = ()
    dialect: str | None = None

    def node(self, path: DocumentPath) -> Node | None:
        """The node at ``path``, or None where the document has none."""
        node: Node | None = self.root
        for part in path:
            match node, part:
                case Mapping(), str():
                    node = node.get(part)
                case Sequence(), int():
                    node = node.items[part] if 0 <= part < len(node.items) else None
                case _:
                    return None
        return node

    def key_range(self, path: DocumentPath) -> Range | None:
        """The range of the key that leads to ``path``; of the item where the path ends in an index."""
        if not path:
            return first_key_range(self.root)
        parent, last = self.node(path[:-1]), path[-1]
        if isinstance(parent, Mapping) and isinstance(last, str):
            entry = parent.entry(last)
            return entry.key.range if entry else None
        node = self.node(path)
        return node.range if node else None

    def value_range(self, path: DocumentPath) -> Range | None:
        """The range of the value at ``path``; of its key where the value is empty or stands elsewhere by an alias."""
        parent = self.node(path[:-1]) if path else None
        entry = parent.entry(str(path[-1])) if isinstance(parent, Mapping) else None
        node = self.node(path)
        if node is None:
            return None
        if entry and (entry.alias or node.range is None or node.range.start == node.range.end):
            return entry.key.range
        return node.range


def first_key_range(node: Node | None) -> Range | None:
    """The range of a mapping's first key, else of the node itself."""
    if isinstance(node, Mapping) and node.entries:
        return node.entries[0].key.range
    return node.range if node else None


def walk(node: Node, path: DocumentPath = ()) -> Iterator[tuple[DocumentPath, Node]]:
    """Every node with its path, parents before children."""
    yield path, node
    match node:
        case Mapping():
            for entry in node.entries:
                yield from walk(entry.value, (*path, entry.key.text))
        case Sequence():
            for index, item in enumerate(node.items):
                yield from walk(item, (*path, index))
