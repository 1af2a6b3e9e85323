"""How modules are named: a list of names, a regex, or a word that PEFT knows."""

import re
import warnings
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from lora_spec.base import StrictModel


def _compilable(text: str) -> str:
    try:
        compiled(text)
    except ValueError as error:
        raise PydanticCustomError("bad_regex", "{problem}", {"problem": str(error)}) from None
    return text


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern compiled, in silence; ValueError with the reason where Python cannot."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # what may mean something else in a later Python
            return re.compile(pattern)
    except re.error as error:
        raise ValueError(str(error)) from None
    except (OverflowError, RecursionError):
        raise ValueError("it repeats or nests too much") from None


Pattern: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_compilable)]
"""A regular expression that Python can compile."""


class Regex(StrictModel):
    """Modules by a regular expression."""

    regex: Pattern
    """A Python regular expression that must match the whole module name (`re.fullmatch`), as PEFT matches a
    text: `.*\\.self_attn\\.[qv]_proj`."""


def _as_tuple(value: Any) -> Any:
    """A list, or an unordered set in sorted order, as the tuple that a frozen value holds."""
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(value, key=str))
    return tuple(value) if isinstance(value, list) else value


def _target_form(value: Any) -> str | None:
    return "<word>" if isinstance(value, str) else _list_or_regex(value)


def _list_or_regex(value: Any) -> str | None:
    if isinstance(value, (list, tuple, set, frozenset)):
        return "<names>"
    return "<regex>" if isinstance(value, (dict, Regex)) else None


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""Module names in the order they were written; each is a whole name or a dotted suffix of one."""

Numbers: TypeAlias = Annotated[tuple[Annotated[int, Field(ge=0)], ...], BeforeValidator(_as_tuple)]
"""Whole numbers from 0, such as layer indices or token ids."""

AllLinear: TypeAlias = Annotated[Literal["all-linear"], BeforeValidator(_lower)]
"""Every linear layer but the output head. PEFT compares the word without case."""

TargetModules: TypeAlias = Annotated[
    Annotated[AllLinear, Tag("<word>")] | Annotated[Names, Tag("<names>")] | Annotated[Regex, Tag("<regex>")],
    Discriminator(
        _target_form, custom_error_type="shape", custom_error_message="a list of names, all-linear, or {regex: '...'}"
    ),
]

ModuleNames: TypeAlias = Annotated[
    Annotated[Names, Tag("<names>")] | Annotated[Regex, Tag("<regex>")],
    Discriminator(_list_or_regex, custom_error_type="shape", custom_error_message="a list of names or {regex: '...'}"),
]


def _one_as_tuple(value: Any) -> Any:
    one = isinstance(value, (int, str)) and not isinstance(value, bool)
    return (value,) if one else _as_tuple(value)


LayerIndices: TypeAlias = Annotated[tuple[Annotated[int, Field(ge=0)], ...], BeforeValidator(_one_as_tuple)]
"""One layer index or a list of them; one expands to a list."""

LayerPatterns: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_one_as_tuple)]
"""One name of a layer list, such as `layers` or `h`, or several; one expands to a list."""


def _pairs(value: Any) -> Any:
    """Lists of lists as tuples of tuples."""
    value = _as_tuple(value)
    return tuple(_as_tuple(item) for item in value) if isinstance(value, tuple) else value


LayerRanges: TypeAlias = Annotated[
    tuple[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)]], ...], BeforeValidator(_pairs)
]
"""Half-open ranges of layer indices: `[[0, 4], [2, 5]]`."""


def _token_form(value: Any) -> str | None:
    if isinstance(value, dict):
        return "<by module>"
    return "<indices>" if isinstance(value, (list, tuple, set, frozenset)) else None


TokenIndices: TypeAlias = Annotated[
    Annotated[Numbers, Tag("<indices>")] | Annotated[dict[str, Numbers], Tag("<by module>")],
    Discriminator(
        _token_form,
        custom_error_type="shape",
        custom_error_message="a list of token ids, or a map from module name to such a list",
    ),
]
