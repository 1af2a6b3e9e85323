"""PyYAML as a stream of events, the same with its C loader and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml

Loader: TypeAlias = type[Any]

_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS = "\0\r\n\x85\u2028\u2029"


class PureLoader(yaml.SafeLoader):
    """PyYAML's Python loader, taking the tabs between and inside tokens that its C loader takes."""

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line breaks; tabs too, but not where they would indent a block."""
        while True:
            blanks = " \t" if self.flow_level or not self.allow_simple_key else " "
            while self.peek() in blanks:
                self.forward()
            if self.peek() == "#":
                while self.peek() not in _BREAKS:
                    self.forward()
            if not self.scan_line_break():  # type: ignore[no-untyped-call]
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[str] | None:  # noqa: ARG002 - PyYAML's
        """Read the blanks and line breaks inside an unquoted text; None where a document ends in them."""
        blanks = ""
        while self.peek() in " \t":
            blanks += self.peek()
            self.forward()
        if self.peek() not in _BREAKS[1:]:
            return [blanks] if blanks else []
        first: str = self.scan_line_break()  # type: ignore[no-untyped-call]
        self.allow_simple_key = True
        more: list[str] = []
        while self.prefix(3) not in ("---", "...") or self.peek(3) not in _BREAKS + " \t":
            if self.peek() == " " or (self.peek() == "\t" and self.column >= indent):
                self.forward()
            elif self.peek() in _BREAKS[1:]:
                more.append(self.scan_line_break())  # type: ignore[no-untyped-call]
            else:
                return [first, *more] if first != "\n" else more or [" "]
        return None

    def scan_flow_scalar_non_spaces(self, double: bool, start_mark: yaml.Mark) -> list[str]:  # noqa: FBT001 - PyYAML's
        """Read a piece of a quoted scalar; an escape that is no character is refused, not kept or a crash."""
        try:
            pieces: list[str] = super().scan_flow_scalar_non_spaces(double, start_mark)
        except (ValueError, OverflowError):
            pieces = ["\ud800"]
        if _SURROGATE.search("".join(pieces)):
            problem = "found invalid Unicode character escape code"
            raise yaml.scanner.ScannerError("while parsing a quoted scalar", start_mark, problem, self.get_mark())
        return pieces


FASTEST: Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else PureLoader
"""The C loader where PyYAML has it; on Python's, ten times slower, all else is equal."""

UNPRINTABLE = re.compile(r"^\ufeff|[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", re.MULTILINE)
"""A character that YAML does not allow; a byte order mark at the start of a line is read differently by each loader."""


def events(text: str, loader: Loader = FASTEST) -> Iterator[yaml.Event]:
    """The parse events of ``text``; nesting costs neither recursion nor memory here.

    Raises:
        yaml.YAMLError: While iterating, where the text is no YAML.
    """
    return yaml.parse(text, Loader=loader)


def span(event: Any) -> tuple[int, int]:
    """Where an event starts and ends, as offsets of the text."""
    return event.start_mark.index, event.end_mark.index
