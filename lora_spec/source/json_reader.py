"""JSON as the same tree of nodes with their places."""

from __future__ import annotations

import json
import re
from enum import Enum, auto

from lora_spec.diagnostics import Diagnostic
from lora_spec.source.document import Node, Scalar, Style
from lora_spec.source.faults import EMPTY_DOCUMENT, UnreadableError, fault
from lora_spec.source.json_errors import bad_number, bad_text, bad_token, lone_surrogate
from lora_spec.source.places import Places
from lora_spec.source.tree import TreeBuilder

_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
    (?P<sign>[{}\[\],:])
    |(?P<text>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(?![\w.])
    |(?P<word>true|false|null)(?!\w)
    |(?P<end>\Z))""",
    re.VERBOSE,
)
_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class Expect(Enum):
    """What may come next."""

    VALUE = auto()
    FIRST_ITEM = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    COMMA = auto()
    END = auto()


def read_json(text: str) -> tuple[Node | None, list[Diagnostic]]:
    """The root of a JSON text, None where it cannot be read, and what there is to say about it.

    As strict as the standard: no comments, trailing commas, NaN or lone surrogates.
    """
    scanner = _Scanner(Places(text))
    try:
        scanner.run()
    except UnreadableError as error:
        return None, [*scanner.tree.diagnostics, error.diagnostic]
    return scanner.tree.root, scanner.tree.diagnostics


class _Scanner:
    """Feeds the tokens of a text into a tree."""

    def __init__(self, places: Places) -> None:
        self.tree = TreeBuilder(places)
        self._places = places
        self._text = places.text
        self._expect = Expect.VALUE
        self._brackets: list[tuple[str, int]] = []
        self._comma = 0

    def run(self) -> None:
        """Take every token."""
        position = 0
        if not self._text.strip(" \t\r\n"):
            raise UnreadableError(fault(EMPTY_DOCUMENT, "the document is empty", "a JSON config starts with `{`"))
        while (token := _TOKEN.match(self._text, position)) and token.lastgroup != "end":
            kind = token.lastgroup or ""
            start, position = token.span(kind)
            self._take(kind, token[kind], start, position)
        if token is None or self._expect is not Expect.END:
            raise self._unexpected(token.start("end") if token else self._after_blanks(position))

    def _take(self, kind: str, token: str, start: int, end: int) -> None:
        if kind == "text":
            self._take_text(token, start, end)
        elif kind == "sign":
            self._take_sign(token, start, end)
        else:
            self._value_allowed(start)
            value = self._number(token, start, end) if kind == "number" else _WORDS[token]
            scalar = Scalar(token, token, Style.JSON, self._places.range(start, end), value=value)
            self.tree.scalar(scalar, start, end)
            self._after_value()

    def _take_text(self, token: str, start: int, end: int) -> None:
        is_key = self._expect in (Expect.KEY, Expect.FIRST_KEY)
        if not is_key:
            self._value_allowed(start)
        content: str = json.loads(token) if "\\" in token else token[1:-1]
        if _SURROGATE.search(content):
            raise UnreadableError(lone_surrogate(self._places, start, end))
        self.tree.scalar(Scalar(content, token, Style.QUOTED, self._places.range(start, end)), start, end)
        if is_key:
            self._expect = Expect.COLON
        else:
            self._after_value()

    def _take_sign(self, sign: str, start: int, end: int) -> None:
        match sign:
            case "{" | "[":
                self._value_allowed(start)
                self.tree.open(start, is_mapping=sign == "{")
                self._brackets.append((sign, start))
                self._expect = Expect.FIRST_KEY if sign == "{" else Expect.FIRST_ITEM
            case "}" | "]":
                self._close(sign, start, end)
            case ":" if self._expect is Expect.COLON:
                self._expect = Expect.VALUE
            case "," if self._expect is Expect.COMMA:
                self._comma = start
                self._expect = Expect.KEY if self._brackets[-1][0] == "{" else Expect.VALUE
            case _:
                raise self._unexpected(start)

    def _close(self, sign: str, start: int, end: int) -> None:
        opening, first = ("{", Expect.FIRST_KEY) if sign == "}" else ("[", Expect.FIRST_ITEM)
        innermost = self._brackets[-1][0] if self._brackets else ""
        if innermost != opening or self._expect not in (first, Expect.COMMA):
            raise self._unexpected(start)
        self._brackets.pop()
        self.tree.close(end)
        self._after_value()

    def _value_allowed(self, start: int) -> None:
        if self._expect not in (Expect.VALUE, Expect.FIRST_ITEM):
            raise self._unexpected(start)

    def _after_value(self) -> None:
        self._expect = Expect.COMMA if self._brackets else Expect.END

    def _number(self, token: str, start: int, end: int) -> float:
        if not token.lstrip("-").isdigit():
            return float(token)
        try:
            return int(token)
        except ValueError:  # more digits than Python reads
            raise UnreadableError(bad_number(self._places, start, end)) from None

    def _after_blanks(self, position: int) -> int:
        blank = _BLANK.match(self._text, position)
        return blank.end() if blank else position

    def _unexpected(self, start: int) -> UnreadableError:
        if self._text[start : start + 1] == '"' and not _TOKEN.match(self._text, start):
            return UnreadableError(bad_text(self._places, start))
        wants_key = self._expect in (Expect.KEY, Expect.FIRST_KEY)
        after_comma = self._expect in (Expect.KEY, Expect.VALUE) and self._text[self._comma : self._comma + 1] == ","
        return UnreadableError(
            bad_token(
                self._places,
                start,
                wants=self._wants(),
                wants_key=wants_key,
                comma=self._comma if after_comma and not self._text[self._comma + 1 : start].strip() else None,
                opening=self._brackets[-1] if self._brackets else None,
            )
        )

    def _wants(self) -> str:
        closing = "" if not self._brackets else "}" if self._brackets[-1][0] == "{" else "]"
        return {
            Expect.VALUE: "a value",
            Expect.FIRST_ITEM: "a value or `]`",
            Expect.FIRST_KEY: "a key in double quotes or `}`",
            Expect.KEY: "a key in double quotes",
            Expect.COLON: "`:`",
            Expect.COMMA: f"`,` or `{closing}`",
            Expect.END: "the end of the file",
        }[self._expect]
