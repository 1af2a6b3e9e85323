"""What a scalar means, as the reader that is named would take it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from lora_spec.source.document import Mapping, Node, Scalar, Sequence, Style

Value: TypeAlias = bool | int | float | str | None
Resolver: TypeAlias = Callable[[Scalar], Value]
Plain: TypeAlias = "Value | list[Plain] | dict[str, Plain]"

_Table: TypeAlias = "tuple[tuple[str, str, Callable[[str], Value]], ...]"

_LONGEST_NUMBER = 512
_MEANING = {"null", "true", "false", "yes", "no", "on", "off", "none"}
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def resolve_core(scalar: Scalar) -> Value:
    """What YAML 1.2 (core schema) takes a scalar for: ``1e-4`` is a number, ``no`` and ``012`` are text and 12."""
    return _resolve(scalar, _CORE)


def resolve_yaml11(scalar: Scalar) -> Value:
    """What PyYAML's SafeLoader takes a scalar for: ``no`` is False, ``012`` is 10, ``1e-4`` is text.

    A date stays text.
    """
    return _resolve(scalar, _YAML11)


def resolve_omegaconf(scalar: Scalar) -> Value:
    """What OmegaConf's loader takes a scalar for: as PyYAML's, but ``1e-4`` is a number."""
    return _resolve(scalar, _OMEGACONF)


def to_plain(node: Node, resolve: Resolver) -> Plain:
    """The builtin value of a node, its scalars resolved by ``resolve``."""
    match node:
        case Scalar():
            return resolve(node)
        case Sequence():
            return [to_plain(item, resolve) for item in node.items]
        case Mapping():
            return {entry.key.text: to_plain(entry.value, resolve) for entry in node.entries}


def is_open(scalar: Scalar) -> bool:
    """Whether a text has a value left open: ``${...}``, ``{{ ... }}``, ``{% ... %}``, ``$NAME``, or OmegaConf's ``???``.

    A ``$`` that ends a regex or stands before ``|`` or ``)`` leaves nothing open.
    """
    return leaves_open(scalar.text)


def leaves_open(text: str) -> bool:
    """``is_open`` for the text alone."""
    return text == "???" or re.search(_OPEN, text) is not None


def other_reading(scalar: Scalar) -> str | None:
    """What PyYAML's readers (YAML 1.1) take a plain scalar for, where YAML 1.2 takes it otherwise; else None.

    A phrase such as ``false``, ``10``, ``the text '1e-4'`` or ``a date``.
    """
    if scalar.style is not Style.PLAIN or scalar.tag or _is_word(scalar.text):
        return None
    if scalar.text == "None":
        return "the text 'None' (null is written null)"
    if re.fullmatch(_DATE, scalar.text):
        return "a date"
    core, yaml11 = resolve_core(scalar), resolve_yaml11(scalar)
    if type(core) is type(yaml11) and (core == yaml11 or core != core):  # noqa: PLR0124 - NaN
        return None
    return f"the text '{yaml11}'" if isinstance(yaml11, str) else _written(yaml11)


def _is_word(text: str) -> bool:
    """Whether every reader takes ``text`` for text: a plain name, and none of the words that mean something."""
    return text.isidentifier() and text.lower() not in _MEANING


def _written(value: Value) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _resolve(scalar: Scalar, table: _Table) -> Value:
    if scalar.style in (Style.VALUE, Style.JSON):
        return scalar.value
    if scalar.tag:
        return _tagged(scalar, table)
    if scalar.style is not Style.PLAIN or len(scalar.text) > _LONGEST_NUMBER:
        return scalar.text
    if _is_word(scalar.text):
        return scalar.text
    for _, pattern, convert in table:
        if re.fullmatch(pattern, scalar.text):
            return convert(scalar.text)
    return scalar.text


def _tagged(scalar: Scalar, table: _Table) -> Value:
    """The value of an explicit tag; what does not fit its tag, and any tag of a program, is left text."""
    if scalar.tag == "!!null":
        return None
    for tag, pattern, convert in table:
        if scalar.tag == tag and len(scalar.text) <= _LONGEST_NUMBER and re.fullmatch(pattern, scalar.text):
            return convert(scalar.text)
    if scalar.tag == "!!float" and re.fullmatch(_DECIMAL, scalar.text):
        return float(scalar.text)
    return scalar.text


def _null(_: str) -> None:
    return None


def _bool(text: str) -> bool:
    return _WORDS[text.lower()]


def _int_core(text: str) -> int:
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _float(text: str) -> float:
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


def _int_yaml11(text: str) -> int | str:
    digits = text.replace("_", "")
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    if ":" in digits:
        return sign * int(_sexagesimal(digits, int))
    if digits in ("0b", "0x"):
        return text
    base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits[0] == "0" else 10)
    return sign * int(digits, base)


def _float_yaml11(text: str) -> float:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits[0] == "-" else 1.0
    digits = digits.lstrip("+-")
    if ":" in digits:
        return sign * _sexagesimal(digits, float)
    return sign * _float(digits)


def _sexagesimal(digits: str, convert: Callable[[str], float]) -> float:
    """Adds up from the smallest place, as PyYAML does, so that floats round alike."""
    value: float = 0
    unit = 1
    for part in reversed(digits.split(":")):
        value += convert(part) * unit
        unit *= 60
    return value


"""Patterns are text: `re` compiles and keeps each when it is first met, which most runs never do for YAML 1.1."""

_DECIMAL = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_INFINITY = r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_NULL = r"null|Null|NULL|~|"
_INT_YAML11 = (
    r"[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"
)
_DATE = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}"
    r"(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)
_OPEN = r"\$\{|\{\{|\{%|\$[A-Za-z0-9_]"

_CORE: _Table = (
    ("!!null", _NULL, _null),
    ("!!bool", r"true|True|TRUE|false|False|FALSE", _bool),
    ("!!int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", _int_core),
    ("!!float", f"{_DECIMAL}|{_INFINITY}", lambda text: _float(text.lower())),
)
_YAML11: _Table = (
    ("!!null", _NULL, _null),
    ("!!bool", "|".join(f"{w}|{w.title()}|{w.upper()}" for w in _WORDS), _bool),
    (
        "!!float",
        (
            r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
            rf"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|{_INFINITY}"
        ),
        _float_yaml11,
    ),
    ("!!int", _INT_YAML11, _int_yaml11),
)
_OMEGACONF: _Table = (
    *_YAML11[:2],
    _YAML11[3],
    (
        "!!float",
        (
            r"[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+"
            r"|\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?"
            rf"|[-+]?[0-9]+(?:_[0-9]+)*(?::[0-5]?[0-9])+\.[0-9_]*|{_INFINITY}"
        ),
        _float_yaml11,
    ),
)
