"""Python values, OmegaConf containers among them, as the same tree of nodes, without places."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

from lora_spec.diagnostics import Diagnostic, dotted
from lora_spec.source.document import Node, Scalar, Style
from lora_spec.source.faults import BAD_ALIAS, BAD_KEY, UNREADABLE_VALUE, UnreadableError, fault
from lora_spec.source.limits import MAX_DEPTH
from lora_spec.source.tree import TreeBuilder

_TORCH_NAMES = ("dtype", "device")


def read_python(value: object) -> tuple[Node | None, list[Diagnostic]]:
    """The root of a Python value, None where it cannot be read, and what there is to say about it."""
    reader = _Reader()
    try:
        reader.read(value)
    except UnreadableError as error:
        return None, [*reader.tree.diagnostics, error.diagnostic]
    return reader.tree.root, reader.tree.diagnostics


class _Reader:
    """Feeds a value into a tree. It recurses, but no deeper than the tree allows."""

    def __init__(self) -> None:
        self.tree = TreeBuilder(None)
        self._inside: set[int] = set()

    def read(self, value: object) -> None:
        """Take a value and all that it holds."""
        if _is_omegaconf(value):
            self._omegaconf(value)
        elif isinstance(value, Mapping):
            self._mapping(value, value.items())
        elif isinstance(value, AbstractSet):
            self._list(value, sorted(value, key=str))
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
            self._list(value, value)
        else:
            self.tree.scalar(self._scalar(value))

    def _mapping(self, owner: object, items: Iterable[tuple[object, object]]) -> None:
        self._enter(owner)
        self.tree.open(is_mapping=True)
        for key, value in items:
            name = _builtin(key)
            if not isinstance(name, str):
                self.tree.diagnostics.append(self._bad_key(key))
                continue
            self.tree.scalar(Scalar(name, "", Style.VALUE, None, value=name))
            self.read(value)
        self._leave(owner)

    def _list(self, owner: object, items: Iterable[object]) -> None:
        self._enter(owner)
        self.tree.open(is_mapping=False)
        for item in items:
            self.read(item)
        self._leave(owner)

    def _omegaconf(self, config: Any) -> None:
        """An OmegaConf container; an interpolation that cannot be resolved stays ``${...}``."""
        plain = sys.modules["omegaconf"].OmegaConf.to_container(config, resolve=False)
        if isinstance(plain, dict):
            self._mapping(config, ((key, _resolved(config, key, raw)) for key, raw in plain.items()))
        elif isinstance(plain, list):
            self._list(config, (_resolved(config, index, raw) for index, raw in enumerate(plain)))
        else:
            self.tree.scalar(self._scalar(plain))

    def _enter(self, owner: object) -> None:
        if id(owner) in self._inside:
            message = "the value contains itself"
            raise UnreadableError(fault(BAD_ALIAS, message, "break the cycle", path=self.tree.path()))
        self._inside.add(id(owner))

    def _leave(self, owner: object) -> None:
        self._inside.remove(id(owner))
        self.tree.close()

    def _scalar(self, value: object) -> Scalar:
        known = _builtin(value)
        if isinstance(known, type):
            found = self._unreadable(value)
            if not self.tree.depth:
                raise UnreadableError(found)
            self.tree.diagnostics.append(found)
            known = None
        return Scalar(_text(known), "", Style.VALUE, None, value=known)

    def _unreadable(self, value: object) -> Diagnostic:
        path = self.tree.path()
        where = f"`{dotted(path)}`" if path else "the config"
        message = f"{where} is of type {_type_name(value)}, which no config can hold"
        return fault(UNREADABLE_VALUE, message, "give text, a number, true, false, None, a list or a dict", path=path)

    def _bad_key(self, key: object) -> Diagnostic:
        message = f"the key {key!r:.60} is of type {_type_name(key)}, not text"
        return fault(BAD_KEY, message, "write the key as text", path=self.tree.path())


def _is_omegaconf(value: object) -> bool:
    module = sys.modules.get("omegaconf")
    return module is not None and bool(module.OmegaConf.is_config(value))


def _resolved(config: Any, key: Any, raw: object) -> object:
    """The item of an OmegaConf container, resolved where it can be, else as it is written."""
    try:
        value: object = config[key]
    except sys.modules["omegaconf"].errors.OmegaConfBaseException:
        return raw
    return raw if value is None else value


def _builtin(value: object) -> bool | float | str | type | None:  # noqa: PLR0911 - a table
    """The builtin value of a scalar; its type where it is none."""
    match value:
        case Enum() if not isinstance(value, Integral):
            return value.value if isinstance(value.value, str) else value.name
        case None | bool():
            return value
        case str():
            return str(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case PathLike():
            return str(fspath(value))
        case dt.date():
            return value.isoformat()
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    is_torch_name = kind.__module__ == "torch" and kind.__name__ in _TORCH_NAMES
    return str(value).removeprefix("torch.") if is_torch_name else kind


def plain_value(value: object, inside: frozenset[int] = frozenset()) -> Any:
    """``value`` with builtin containers and scalars for others of their kind: mappings, sets, enums, numpy's numbers.

    What is none of these, and a container that holds itself, is left as it is.
    """
    if id(value) in inside or len(inside) > MAX_DEPTH:
        return value
    within = inside | {id(value)}
    if isinstance(value, Mapping):
        return {key: plain_value(item, within) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return [plain_value(item, within) for item in sorted(value, key=str)]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [plain_value(item, within) for item in value]
    known = _builtin(value)
    return value if isinstance(known, type) else known


def _text(value: float | str | None) -> str:
    """A value as YAML writes it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int) and value.bit_length() > 1024:
        return hex(value)
    return str(value).replace("inf", ".inf").replace("nan", ".nan") if isinstance(value, float) else str(value)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
