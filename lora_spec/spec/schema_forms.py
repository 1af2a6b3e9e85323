"""Settings that take more than one form, as JSON Schema: pydantic sees the long form alone, people write the short one.

A union is an ``anyOf`` whose branches differ in type. When nothing fits, editors tell the first branch's message, so it
says what all of them are; its type is a list because editors would write theirs over the words of a single type's.
``oneOf`` would complete a key without its colon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from lora_spec.spec.inits import KINDS

Schema: TypeAlias = dict[str, Any]

ALL_LINEAR = "^[Aa][Ll][Ll]-[Ll][Ii][Nn][Ee][Aa][Rr]$"
"""PEFT compares the word without case; JSON Schema's patterns have no flag for that."""


PATTERNS = {
    "lora.adapter_name": "expected a name without dots",
    "model_class": "expected the name of a class, such as Qwen2ForCausalLM",
}
"""What a text must be, where a pattern is all that the schema has."""

NOT_EMPTY = {"pattern": r"[\s\S]", "patternErrorMessage": "expected a module name or regex, not an empty text"}
"""The keys of a map by module name."""


def in_every_form(node: Schema, path: str) -> Schema:
    """``node``, the schema of the long form of the setting at ``path``, with the short forms beside it."""
    if path in PATTERNS:
        return {**node, "patternErrorMessage": PATTERNS[path]}
    if "propertyNames" in node:
        return {**node, "propertyNames": NOT_EMPTY}
    widen = _FORMS.get(path)
    if widen is None:
        return node
    about: Schema = {key: node[key] for key in ("description", "default") if key in node}
    return {**about, **widen(node.get("oneOf", [{key: value for key, value in node.items() if key not in about}]))}


def _target_modules(branches: list[Schema]) -> Schema:
    _, names, regex = branches
    wanted = "expected a list of names, all-linear, or {regex: '...'}"
    word = {**_first("string", wanted), "pattern": ALL_LINEAR, "patternErrorMessage": wanted}
    return {"anyOf": [{**word, "title": "word"}, {**names, "title": "list"}, {**regex, "title": "regex"}]}


def _first(form: str, wanted: str) -> Schema:
    """What the first branch of a union says of a value that fits none."""
    return {"type": [form], "errorMessage": wanted}


def _names_or_regex(branches: list[Schema]) -> Schema:
    names, regex = branches
    first = _first("array", "expected a list of names or {regex: '...'}")
    return {"anyOf": [{**names, **first, "title": "list"}, {**regex, "title": "regex"}]}


def _indices_or_map(branches: list[Schema]) -> Schema:
    indices, by_module = branches
    first = _first("array", "expected a list of token ids, or a map from module name to such a list")
    return {"anyOf": [{**indices, **first, "title": "list"}, {**by_module, "title": "map"}]}


def _one_or_list(words: str) -> Callable[[list[Schema]], Schema]:
    def widen(branches: list[Schema]) -> Schema:
        (several,) = branches
        first = _first(several["items"]["type"], f"expected {words}")
        return {"anyOf": [{**several["items"], **first, "title": "one"}, {**several, "title": "list"}]}

    return widen


def _pairs(branches: list[Schema]) -> Schema:
    """Draft-07 has a list of schemas for a pair; pydantic's word, ``prefixItems``, means nothing there."""
    (several,) = branches
    pair = {**several["items"], "items": several["items"]["prefixItems"]}
    del pair["prefixItems"]
    return {**several, "items": pair}


def _switch_or_settings(branches: list[Schema]) -> Schema:
    (settings,) = branches
    first = _first("boolean", "expected true, false, or {use_reentrant: false}")
    return {"anyOf": [{**first, "title": "switch"}, {**settings, "title": "settings"}]}


def _init(branches: list[Schema]) -> Schema:
    """A kind by name, PEFT's true and false, or the kind with its settings and those alone.

    The settings hang on the kind by ``if``: a union of closed objects would offer every kind's keys before one is
    chosen, and a quick fix for the first kind only.
    """
    texts = [branch["description"] for branch in branches]
    names: Schema = {"enum": [*KINDS, True, False], "markdownEnumDescriptions": [*texts, *texts[:2]]}
    names["errorMessage"] = (
        f"expected {', '.join(KINDS)}, true, false, or a kind with its settings such as {{kind: pissa, niter: 16}}"
    )
    kind = {
        "enum": list(KINDS),
        "markdownEnumDescriptions": texts,
        "description": "Which init; each has settings of its own.",
    }
    settings = {"type": "object", "required": ["kind"], "properties": {"kind": kind}, "additionalProperties": True}
    by_kind = [_settings_of(name, branch) for name, branch in zip(KINDS, branches, strict=True)]
    return {"anyOf": [{**names, "title": "name"}, {**settings, "allOf": by_kind, "title": "settings"}]}


def _settings_of(kind: str, branch: Schema) -> Schema:
    chosen = {"required": ["kind"], "properties": {"kind": {"const": kind}}}
    settings = {name: setting for name, setting in branch["properties"].items() if name != "kind"}
    return {"if": chosen, "then": {"properties": {"kind": {}, **settings}, "additionalProperties": False}}


_FORMS: dict[str, Callable[[list[Schema]], Schema]] = {
    "lora.target_modules": _target_modules,
    "lora.exclude_modules": _names_or_regex,
    "lora.init": _init,
    "lora.layers_to_transform": _one_or_list("a layer index or a list of them"),
    "lora.layers_pattern": _one_or_list("a name or a list of names"),
    "lora.layer_replication": _pairs,
    "lora.trainable_token_indices": _indices_or_map,
    "prepare.gradient_checkpointing": _switch_or_settings,
}


def init_is(*kinds: str) -> Schema:
    """Whether the init is one of ``kinds``, in either form."""
    written = [*kinds, *(value for value, kind in ((True, "default"), (False, "random")) if kind in kinds)]
    long = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": list(kinds)}}}
    return {"anyOf": [{"enum": written}, long]}
