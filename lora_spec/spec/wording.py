"""Values as a person would write and call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"^[A-Za-z_./][\w./-]*(?::\w+)?$")
_AMBIGUOUS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"}
_LONG = 60


def yaml_text(value: Any) -> str:
    """``value`` as YAML on one line; text in quotes only where it needs them."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return (
            value
            if _PLAIN.match(value) and value.lower() not in _AMBIGUOUS
            else f"'{value.replace(chr(39), chr(39) * 2)}'"
        )
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_text(k)}: {yaml_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(yaml_text(item) for item in value) + "]"
    return str(value)


def counted(number: int, noun: str) -> str:
    """``1 module``, ``2 modules``."""
    return f"{number:,d} {noun}" if number == 1 else f"{number:,d} {noun}s"


def with_article(noun: str) -> str:
    """``a Linear``, ``an OPTAttention``."""
    return f"{'an' if noun[:1] in 'AEIOaeio' else 'a'} {noun}"


def described(value: Any) -> str:
    """What ``value`` is, for a sentence: ``the text "16"``, ``true``, ``a list``."""
    if isinstance(value, str):
        shown = value if len(value) <= _LONG else value[: _LONG - 1] + "…"
        return f'the text "{shown}"' if value else "an empty text"
    if isinstance(value, bool) or value is None:
        return yaml_text(value)
    if isinstance(value, int) and abs(value) > 10**_LONG:
        return "so large a number"
    if isinstance(value, (int, float)):
        return f"{value}"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else f"a Python {type(value).__name__}"
