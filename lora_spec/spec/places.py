"""Where a native setting stands in the user's document, whatever tool the document was written for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lora_spec.diagnostics import Diagnostic, DocumentPath, Edit, Fix, Range, Rule, dotted
from lora_spec.source.document import Document, Scalar, Sequence, Style
from lora_spec.spec.wording import yaml_text

_MAPS = ("rank_pattern", "alpha_pattern", "trainable_token_indices", "megatron_config")
"""Fields of `lora` whose keys are the user's own."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where native paths stand in the user's document.

    ``moved`` maps a native path to the user's; a path below one that moved moves along. Without a document there are
    no ranges. ``core`` says whether scalars are read by YAML 1.2's core schema, as in the native format.
    """

    document: Document | None = None
    moved: Mapping[DocumentPath, DocumentPath] = field(default_factory=dict)
    core: bool = True

    def path(self, native: DocumentPath) -> DocumentPath:
        """The user's path of a native one."""
        for length in range(len(native), 0, -1):
            if (start := self.moved.get(native[:length])) is not None:
                return (*start, *native[length:])
        return native

    def value(self, native: DocumentPath) -> Range | None:
        """The range of the value, else of the key of the nearest parent that stands in the text."""
        path = self.path(native)
        if self.document is None:
            return None
        return self.document.value_range(path) if self._stands(path) else self._parent_key(path)

    def key(self, native: DocumentPath) -> Range | None:
        """The range of the key, else of the key of the nearest parent that stands in the text."""
        path = self.path(native)
        if self.document is None:
            return None
        return self.document.key_range(path) if self._stands(path) else self._parent_key(path)

    def _stands(self, path: DocumentPath) -> bool:
        return self.document is not None and self.document.node(path) is not None

    def _parent_key(self, path: DocumentPath) -> Range | None:
        assert self.document is not None
        while path and not self._stands(path):
            path = path[:-1]
        return self.document.key_range(path)

    def name(self, native: DocumentPath) -> str:
        """The setting in the user's words: the last key, with the index of an item."""
        path = self.path(native)
        if len(native) == 3 and native[1] in _MAPS and isinstance(native[2], str):
            return f"{path[-2]} of {path[-1]}"
        keys = [index for index, part in enumerate(path) if isinstance(part, str)]
        return dotted(path[keys[-1] :]) if keys else dotted(path)

    def scalar(self, native: DocumentPath) -> Scalar | None:
        """The scalar as it is written, or None where there is none with a text of its own."""
        node = self.document.node(self.path(native)) if self.document else None
        return node if isinstance(node, Scalar) and node.style is not Style.VALUE else None

    def spelled(self, value: Any) -> str:
        """``value`` as it is written in the user's format, on one line."""
        is_json = self.document is not None and self.document.format == "json"
        return json.dumps(value, ensure_ascii=False) if is_json else yaml_text(value)

    def replacement(self, native: DocumentPath, *values: Any, safe: bool = True) -> tuple[Fix, ...]:
        """A fix that writes ``values`` in the place of one; none where that stands elsewhere or nowhere."""
        text = ", ".join(map(self.spelled, values))
        node = self.document.node(self.path(native)) if self.document else None
        if node is None or node.range is None or node.range != self.value(native):
            return ()
        return (Fix(f"write {text}", safe, (Edit(node.range, text),)),)

    def items(self, native: DocumentPath, names: list[str], *, safe: bool = True) -> tuple[Fix, ...]:
        """A fix that writes several items in the place of one; only in a list in brackets, or where there is one."""
        parent = self.document.node(self.path(native)[:-1]) if self.document else None
        fits = len(names) == 1 or (isinstance(parent, Sequence) and parent.flow)
        return self.replacement(native, *names, safe=safe) if fits else ()

    def renaming(self, native: DocumentPath, key: str) -> tuple[Fix, ...]:
        """A fix that writes ``key`` in the place of the key that leads to ``native``."""
        place = self.key(native)
        return (Fix(f"rename to {key}", safe=True, edits=(Edit(place, self.spelled(key)),)),) if place else ()


def at_value(
    places: Places, path: DocumentPath, rule: Rule, message: str, remedy: str = "", fixes: tuple[Fix, ...] = ()
) -> Diagnostic:
    """A diagnostic of ``rule`` on the value at the native ``path``."""
    return _diagnostic(rule, message, remedy, places.path(path), places.value(path), fixes)


def at_key(
    places: Places, path: DocumentPath, rule: Rule, message: str, remedy: str = "", fixes: tuple[Fix, ...] = ()
) -> Diagnostic:
    """A diagnostic of ``rule`` on the key that leads to the native ``path``."""
    return _diagnostic(rule, message, remedy, places.path(path), places.key(path), fixes)


def _diagnostic(
    rule: Rule, message: str, remedy: str, path: DocumentPath, place: Range | None, fixes: tuple[Fix, ...]
) -> Diagnostic:
    return Diagnostic(rule.code, rule.name, rule.severity, message, remedy, path, place, fixes)
