"""What is said about a document: where, what, why it matters, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

DocumentPath: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the root of a document to a value."""


class Position(NamedTuple):
    """A place in a text. Lines and columns count from 1, columns in characters."""

    line: int
    column: int


class Range(NamedTuple):
    """From ``start`` up to, not including, ``end``."""

    start: Position
    end: Position


class Severity(StrEnum):
    """How bad it is; see INTERFACE: error crashes or trains something else, warning is seldom wanted, info is free."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Edit(NamedTuple):
    """Replace the text of ``range`` by ``text``."""

    range: Range
    text: str


class Fix(NamedTuple):
    """A remedy as edits; ``safe`` when it cannot change what was meant."""

    description: str
    safe: bool
    edits: tuple[Edit, ...]


class Rule(NamedTuple):
    """A kind of fault: its code, what it is called, how bad it is, why it matters, and both sides of an example."""

    code: str
    name: str
    severity: Severity
    why: str
    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault, or one thing worth knowing, at one place.

    ``message`` says what is wrong, ``help`` what to do. ``document_path`` is the path in the user's document;
    ``range`` is None where there is no text (a dict, a spec object).
    """

    code: str
    name: str
    severity: Severity
    message: str
    help: str = ""
    document_path: DocumentPath = ()
    range: Range | None = None
    fixes: tuple[Fix, ...] = field(default=())

    @property
    def is_error(self) -> bool:
        """Whether this is a fault."""
        return self.severity is Severity.ERROR


class SpecError(ValueError):
    """A document or spec with faults; ``diagnostics`` holds every one of them."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep the diagnostics; the text lists the errors, one a line."""
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(_one_line(d) for d in self.diagnostics if d.is_error))

    def __reduce__(self) -> tuple[type[SpecError], tuple[tuple[Diagnostic, ...]]]:
        """Survive pickling with the diagnostics."""
        return type(self), (self.diagnostics,)


def closest(word: str, candidates: Iterable[str], *, cutoff: float = 0.65) -> str | None:
    """The candidate that ``word`` was probably meant to be, or None where nothing is near.

    Case, dashes and camel case do not count as differences; ``cutoff`` is how alike the two must be, up to 1.
    """
    import difflib  # start-up time: most documents have no misspelling

    by_form = {_plain(candidate): candidate for candidate in candidates}
    near = difflib.get_close_matches(_plain(word), by_form, n=1, cutoff=cutoff)
    return by_form[near[0]] if near else None


def in_order(diagnostic: Diagnostic) -> tuple[int, int, str]:
    """A sort key: by place in the text, then by code; what has no place comes first."""
    start = diagnostic.range.start if diagnostic.range else None
    return (start.line, start.column, diagnostic.code) if start else (0, 0, diagnostic.code)


def dotted(path: DocumentPath) -> str:
    """A document path as people write it: ``lora.target_modules[1]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _plain(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()


def _one_line(diagnostic: Diagnostic) -> str:
    place = dotted(diagnostic.document_path)
    text = f"{place}: {diagnostic.message}" if place else diagnostic.message
    return f"{diagnostic.code} {text}" + (f" ({diagnostic.help})" if diagnostic.help else "")
