"""What is no JSON, in the user's words."""

from __future__ import annotations

import re

from lora_spec.diagnostics import Diagnostic, Edit, Fix
from lora_spec.source.faults import SYNTAX_ERROR, fault
from lora_spec.source.places import Places

_WORD = re.compile(r'"[^"\r\n]*"|[^\s\",:\[\]{}]+')
_NUMBER = re.compile(r"[-+.]*[0-9]")
_NAME = re.compile(r"[A-Za-z_$][\w.$-]*")
_SINGLE_QUOTED = re.compile(r"'([^'\"\\\r\n]*)'")
_GOOD_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_END = "the end of the file"
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity", "nan", "inf", "-inf")


def bad_token(
    places: Places,
    start: int,
    *,
    wants: str,
    wants_key: bool,
    comma: int | None,
    opening: tuple[str, int] | None,
) -> Diagnostic:
    """The diagnostic of a token that cannot stand where it stands.

    Args:
        places: Of the text.
        start: Where the token starts.
        wants: What may stand there, as a phrase.
        wants_key: Whether that is a key.
        comma: Where the comma just before it is, if one is.
        opening: The innermost open bracket and where it is.
    """
    found = places.text[start : start + 1]
    if comma is not None and found in ("}", "]", ""):
        if found:
            return _trailing_comma(places, comma, found)
        wants = "another entry"
    if not found:
        return _unfinished(places, start, wants, opening)
    if found in "#/":
        end = start + len(places.line(start)[start - places.line_start(start) :])
        return _fault(places, start, end, "JSON has no comments", "remove it, or write the config as YAML")
    if found == "'":
        return _single_quotes(places, start)
    return _bad_word(places, start, wants, wants_key=wants_key)


def bad_text(places: Places, start: int) -> Diagnostic:
    """The diagnostic of a text in double quotes that does not end, or not well, and starts at ``start``."""
    good = _GOOD_TEXT.match(places.text, start)
    stop = good.end() if good else start + 1
    found = places.text[stop : stop + 1]
    if found == "\\":
        message = f"`{places.text[stop : stop + 2]}` is no escape that JSON knows"
        return _fault(places, stop, stop + 2, message, r"write a backslash as `\\`")
    if found in ("", "\n", "\r"):
        return _fault(places, start, start + 1, 'the quote `"` is never closed', 'add the closing `"` on the same line')
    message = f"the character U+{ord(found):04X} stands in a text"
    escape = "\\t" if found == "\t" else f"\\u{ord(found):04x}"
    return _fault(places, stop, stop + 1, message, f"write it as `{escape}`")


def bad_number(places: Places, start: int, end: int) -> Diagnostic:
    """The diagnostic of a number with thousands of digits."""
    return _fault(places, start, end, f"a number of {end - start:,} digits is too long to read", "shorten it")


def lone_surrogate(places: Places, start: int, end: int) -> Diagnostic:
    """The diagnostic of half a surrogate pair in a text."""
    message = r"the text holds a `\u` escape that is half of a surrogate pair, which is no character"
    return _fault(places, start, end, message, "write the character itself, or both halves")


def _fault(places: Places, start: int, end: int, message: str, remedy: str, *fixes: Fix) -> Diagnostic:
    return fault(SYNTAX_ERROR, message, remedy, place=places.range(start, end), fixes=fixes)


def _replacement(places: Places, start: int, end: int, text: str, description: str) -> Fix:
    return Fix(description, safe=True, edits=(Edit(places.range(start, end), text),))


def _trailing_comma(places: Places, comma: int, found: str) -> Diagnostic:
    fix = _replacement(places, comma, comma + 1, "", "remove the comma")
    return _fault(places, comma, comma + 1, f"a comma stands before the closing `{found}`", "remove it", fix)


def _unfinished(places: Places, start: int, wants: str, opening: tuple[str, int] | None) -> Diagnostic:
    if opening is None:
        return _fault(places, start, start, f"the text ends where {wants} is expected", "complete it")
    bracket, place = opening
    closing = "}" if bracket == "{" else "]"
    return _fault(places, place, place + 1, f"the `{bracket}` is never closed", f"add the `{closing}`")


def _single_quotes(places: Places, start: int) -> Diagnostic:
    quoted = _SINGLE_QUOTED.match(places.text, start)
    message = "JSON text stands in double quotes, not single ones"
    if not quoted:
        return _fault(places, start, start + 1, message, 'write "..."')
    fix = _replacement(places, start, quoted.end(), f'"{quoted[1]}"', "use double quotes")
    return _fault(places, start, quoted.end(), message, f'write "{quoted[1]}"', fix)


def _bad_word(places: Places, start: int, wants: str, *, wants_key: bool) -> Diagnostic:
    word = _WORD.match(places.text, start)
    end = word.end() if word else start + 1
    text = places.text[start:end]
    if wants == _END:
        return _fault(places, start, end, f"`{_cut(text)}` follows the end of the config", "remove it")
    if text in _PYTHON:
        fix = _replacement(places, start, end, _PYTHON[text], f"write {_PYTHON[text]}")
        return _fault(places, start, end, f"`{text}` is Python, not JSON", f"write {_PYTHON[text]}", fix)
    if text in _NOT_FINITE:
        return _fault(places, start, end, f"`{text}` is not a number that JSON has", "write a finite number, or null")
    if _NAME.fullmatch(text) and (wants_key or wants.startswith("a value")):
        what = "key" if wants_key else "text"
        fix = _replacement(places, start, end, f'"{text}"', "put it in double quotes")
        return _fault(places, start, end, f"the {what} `{_cut(text)}` has no quotes", f'write "{_cut(text)}"', fix)
    message, remedy = _misplaced(text, wants)
    return _fault(places, start, end, message, remedy)


def _misplaced(text: str, wants: str) -> tuple[str, str]:
    shown = _cut(text)
    if _NUMBER.match(text) and wants.startswith("a value"):
        return f"`{shown}` is not how JSON writes a number", "write it like 1, 0.5 or 1e-4"
    if wants.startswith("`,`") and text not in ("]", "}", ":"):
        return f"a comma is missing before `{shown}`", "separate entries by a comma"
    remedy = "remove it" if text == "," else f"write {wants} before it"
    return f"`{shown}` stands where {wants} is expected", remedy


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
