"""YAML merge keys: ``<<`` copies the entries of another mapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath
from lora_spec.source.document import Entry, Mapping, Node, Scalar, Sequence, Style
from lora_spec.source.faults import BAD_ALIAS, fault


def is_merge(key: Scalar) -> bool:
    """Whether a key is ``<<``, written plainly."""
    return key.text == "<<" and key.style is Style.PLAIN and key.tag in (None, "!!merge")


def resolve_merges(entries: list[Entry], path: DocumentPath) -> tuple[tuple[Entry, ...], list[Diagnostic]]:
    """The entries of a mapping with ``<<`` replaced by what it copies, and no key twice.

    The mapping's own keys win, the last of equal ones; of several merged mappings the first wins. What is copied
    keeps its place in the text.

    Args:
        entries: As written, in order.
        path: The mapping's path, for the diagnostics.
    """
    own = {entry.key.text: entry for entry in entries if not is_merge(entry.key)}
    if len(own) == len(entries):
        return tuple(entries), []
    taken = set(own)
    merged: list[Entry] = []
    faults: list[Diagnostic] = []
    for entry in entries:
        if not is_merge(entry.key):
            merged += [entry] if own[entry.key.text] is entry else []
            continue
        faults += [_not_mergeable(entry.key, path)] if not _is_mergeable(entry.value) else []
        for copied in _copied(entry.value):
            if copied.key.text not in taken:
                taken.add(copied.key.text)
                merged.append(copied)
    return tuple(merged), faults


def _is_mergeable(node: Node) -> bool:
    return all(isinstance(source, Mapping) or _is_undefined_alias(source) for source in _sources(node))


def _is_undefined_alias(node: Node) -> bool:
    """An alias that leads nowhere, which the reader has told and left as a text whose quotes are missing."""
    return isinstance(node, Scalar) and node.style is Style.QUOTED and node.raw == node.text


def _copied(node: Node) -> Iterator[Entry]:
    for source in _sources(node):
        if isinstance(source, Mapping):
            yield from source.entries


def _sources(node: Node) -> Iterable[Node]:
    return node.items if isinstance(node, Sequence) else (node,)


def _not_mergeable(key: Scalar, path: DocumentPath) -> Diagnostic:
    message = "`<<` copies keys from a mapping, and its value is none"
    remedy = "give it an alias of a mapping, `<<: *name`, or a list of those"
    return fault(BAD_ALIAS, message, remedy, path=path, place=key.range)
