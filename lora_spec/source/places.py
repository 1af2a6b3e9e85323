"""Offsets of a text as lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right

from lora_spec.diagnostics import Position, Range

_LINE_END = re.compile(r"\r\n|\n|\r")


class Places:
    r"""Turns character offsets of one text into positions.

    Lines end at ``\n``, ``\r\n`` or a lone ``\r``, as in an editor. PyYAML's own line numbers also count NEL,
    U+2028 and U+2029, so they are never used.
    """

    def __init__(self, text: str) -> None:
        """Find the line starts of ``text``."""
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, offset: int) -> Position:
        """The line and column of a character offset."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def offset(self, position: Position) -> int:
        """The character offset of a position of this text."""
        return self._starts[position.line - 1] + position.column - 1

    def range(self, start: int, end: int) -> Range:
        """The range of the characters from ``start`` up to, not including, ``end``."""
        starts = self._starts
        line = bisect_right(starts, start)
        first = Position(line, start - starts[line - 1] + 1)
        if line == len(starts) or end < starts[line]:
            return Range(first, Position(line, end - starts[line - 1] + 1))
        return Range(first, self.position(end))

    def line(self, offset: int) -> str:
        """The text of the line at ``offset``, without its end."""
        first = self.line_start(offset)
        end = _LINE_END.search(self.text, first)
        return self.text[first : end.start() if end else len(self.text)]

    def line_start(self, offset: int) -> int:
        """The offset of the first character of the line at ``offset``."""
        return self._starts[bisect_right(self._starts, offset) - 1]
