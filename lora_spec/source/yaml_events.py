"""PyYAML as a stream of events, the same with its C loader and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml

Loader: TypeAlias = type[Any]

_BREAKS = "\0\r\n\x85\u2028\u2029"


class PureLoader(yaml.SafeLoader):
    """PyYAML's Python loader, taking tabs between tokens where its C loader takes them."""

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line breaks; tabs too, but not where they would indent a block."""
        while True:
            blanks = " \t" if self.flow_level or not self.allow_simple_key else " "
            while self.peek() in blanks:
                self.forward()
            if self.peek() == "#":
                while self.peek() not in _BREAKS:
                    self.forward()
            if not self.scan_line_break():
                return
            if not self.flow_level:
                self.allow_simple_key = True


FASTEST: Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else PureLoader
"""The C loader where PyYAML has it; on Python's, ten times slower, all else is equal."""

UNPRINTABLE = re.compile(r"[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""A character that YAML does not allow."""


def events(text: str, loader: Loader = FASTEST) -> Iterator[yaml.Event]:
    """The parse events of ``text``; nesting costs neither recursion nor memory here.

    Raises:
        yaml.YAMLError: While iterating, where the text is no YAML.
    """
    return yaml.parse(text, Loader=loader)
