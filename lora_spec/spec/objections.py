"""Each of pydantic's errors as one diagnostic in the user's words, at its place, with the remedy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from lora_spec.base import StrictModel
from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, closest, dotted
from lora_spec.spec import faults
from lora_spec.spec.foreign_names import DTYPES, native_name
from lora_spec.spec.inits import INITS, KINDS
from lora_spec.spec.places import Places, at_key, at_value
from lora_spec.spec.reading_notes import reading_note
from lora_spec.spec.wording import described, repaired


class Objection(NamedTuple):
    """A diagnostic and the native path whose value cannot be used.

    ``meant`` is the path that an unknown key was probably meant to be: nothing more is said of that one.
    """

    path: DocumentPath
    diagnostic: Diagnostic
    meant: DocumentPath | None = None


def objection(error: ErrorDetails, values: Mapping[str, Any], places: Places) -> Objection:
    """What ``error`` says of ``values``, in the user's words."""
    path = _native_path(error["loc"])
    kind = error["type"]
    if kind == "missing" and isinstance(path[-1], int):  # the second of a pair
        path, error = path[:-1], {**error, "type": "too_short"}
        kind = "too_short"
    if kind == "init_kind" and isinstance(error["input"], Mapping) and _written(error) == error["input"]:
        return _init_kind(error, path, places)
    if kind == "extra_forbidden":
        meant = _meant(path, values)
        return Objection(path, _unknown_key(path, meant, values, places), meant)
    if kind == "missing":
        return Objection(path, _missing_key(path, places))
    rule, expected = _expectation(error)
    if error["loc"][-1] == "[key]":
        return Objection(path, _wrong_key(rule, expected, path, places))
    return Objection(path, _wrong_value(rule, expected, error, path, places))


def _init_kind(error: ErrorDetails, path: DocumentPath, places: Places) -> Objection:
    """An init in its long form, without a kind or with one that does not exist."""
    inner = (*path, "kind")
    if "kind" not in error["input"]:
        return Objection(path, _missing_key(inner, places))
    value: Any = error["input"]["kind"]
    found = _wrong_value(faults.NOT_A_CHOICE, error["msg"], {**error, "input": {"kind": value}}, inner, places)
    return Objection(path, found)


def _native_path(loc: tuple[int | str, ...]) -> DocumentPath:
    """Pydantic's location less the tags of its unions and its mark of a key."""
    return tuple(part for part in loc if not (isinstance(part, str) and (part[:1] == "<" or part == "[key]")))


# --- keys ------------------------------------------------------------------------------------------------------------


def _unknown_key(
    path: DocumentPath, meant: DocumentPath | None, values: Mapping[str, Any], places: Places
) -> Diagnostic:
    key = str(path[-1])
    section = dotted(path[:-1]) or "the document"
    message = f"unknown key {key} in {section}"
    if meant is None:
        known = ", ".join(_keys_at(path[:-1], values))
        remedy = (
            f"known here: {known}" if 0 < len(known) <= _SHORT else "remove it: neither this format nor PEFT has it"
        )
        return at_key(places, path, faults.UNKNOWN_KEY, message, remedy)
    if meant[:-1] != path[:-1]:
        return at_key(places, path, faults.UNKNOWN_KEY, message, f"the setting is {dotted(meant)}: move it there")
    if meant[-1] in _siblings(path, values):
        return at_key(places, path, faults.UNKNOWN_KEY, message, f"{meant[-1]} is set already: remove {key}")
    return at_key(
        places, path, faults.UNKNOWN_KEY, message, f"did you mean {meant[-1]}?", places.renaming(path, str(meant[-1]))
    )


_SHORT = 200
"""A list of known keys that is longer than this, in characters, is no help."""


def _meant(path: DocumentPath, values: Mapping[str, Any]) -> DocumentPath | None:
    """The native path that an unknown key was probably meant to be: a misspelling first, then another tool's name,
    then the same or a near name in another section.
    """
    key, parent = str(path[-1]), path[:-1]
    foreign = native_name(key)
    if foreign is not None and foreign[:-1] == parent:
        return foreign
    if near := closest(key, _keys_at(parent, values)):
        return (*parent, near)
    if foreign is not None:
        return foreign
    for section in _SECTIONS:
        if section != parent and (near := closest(key, _keys_of(section))):
            return (*section, near)
    return None


_SECTIONS: tuple[DocumentPath, ...] = (
    (),
    ("lora",),
    ("prepare",),
    ("prepare", "fsdp"),
    ("quantization",),
    ("train",),
    ("serve",),
)


def _keys_at(path: DocumentPath, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that the section at ``path`` takes in this document: an init's are those of its kind."""
    if path != ("lora", "init"):
        return _keys_of(path)
    kind = _siblings((*path, ""), values).get("kind")
    return next(
        (tuple(model.model_fields) for word, model in zip(KINDS, INITS, strict=True) if word == kind), ("kind",)
    )


def _keys_of(path: DocumentPath) -> tuple[str, ...]:
    """The keys that the native section at ``path`` takes; none where it is not a fixed section."""
    from lora_spec.spec.root import LoraSpec  # the root calls back into this file

    model: Any = LoraSpec
    for part in path:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        model = _model_in(field.annotation) if field else None
        if model is None:
            return ()
    return tuple(model.model_fields)


def _model_in(annotation: Any) -> type[StrictModel] | None:
    """The one model that an annotation allows, or None."""
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        return annotation
    models = [m for m in map(_model_in, getattr(annotation, "__args__", ())) if m is not None]
    return models[0] if len(models) == 1 else None


def _siblings(path: DocumentPath, values: Any) -> Any:
    for part in path[:-1]:
        values = values.get(part, {}) if isinstance(values, Mapping) else {}
    return values if isinstance(values, Mapping) else {}


def _missing_key(path: DocumentPath, places: Places) -> Diagnostic:
    key = dotted(path[-1:])
    section = dotted(path[:-1])
    where = f" in {section}" if section else ""
    remedy = _EXAMPLES.get(key, f"add {key}")
    return at_key(places, path, faults.MISSING_KEY, f"{key} is missing{where}", remedy)


_EXAMPLES = {
    "base_model": "add base_model: a hub id such as Qwen/Qwen2.5-0.5B-Instruct, or a local folder",
    "strategy": "add strategy: fsdp2, fsdp1 or ddp",
    "bits": "add bits: 4 or 8",
    "engine": "add engine: vllm, sglang or llama.cpp",
    "kind": "add kind, such as kind: pissa",
    "regex": r"add regex: '.*\.self_attn\.[qv]_proj'",
}

# --- values ----------------------------------------------------------------------------------------------------------

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of settings",
    "model_attributes_type": "a mapping of settings",
    "too_short": "a pair such as [0, 4]",
    "too_long": "a pair such as [0, 4]",
    "string_too_short": "text that is not empty",
    "finite_number": "a finite number",
}

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}

_COMPARISONS = tuple(word for _, word in _BOUNDS.values())

_PATTERNS = {"adapter_name": "a name without dots", "model_class": "the name of a class, such as Qwen2ForCausalLM"}


_RULES = {
    "finite_number": faults.OUT_OF_RANGE,
    "string_too_short": faults.OUT_OF_RANGE,
    "string_pattern_mismatch": faults.OUT_OF_RANGE,
    "literal_error": faults.NOT_A_CHOICE,
    "init_kind": faults.NOT_A_CHOICE,
    "bad_regex": faults.BAD_REGEX,
}


def _expectation(error: ErrorDetails) -> tuple[Rule, str]:
    """The rule that ``error`` breaks, and what was expected."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _BOUNDS:
        bound, word = _BOUNDS[kind]
        return faults.OUT_OF_RANGE, f"{word} {context[bound]:g}"
    match kind:
        case "literal_error":
            expected = f"one of {', '.join(_choices(context))}"
        case "bad_regex":
            expected = f"a regular expression: {context['problem']}"
        case "string_pattern_mismatch":
            expected = next(words for key, words in _PATTERNS.items() if key in error["loc"])
        case _:
            expected = _TYPES.get(kind, error["msg"])
    return _RULES.get(kind, faults.WRONG_TYPE), expected


def _choices(context: Mapping[str, Any]) -> list[str]:
    """The words of a literal as pydantic lists them: ``'a', 'b' or 'c'``."""
    return [word.strip().strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(",")]


def _wrong_key(rule: Rule, expected: str, path: DocumentPath, places: Places) -> Diagnostic:
    message = f"the key {path[-1]} in {places.name(path[:-1])} is not {expected}"
    return at_key(places, path, rule, message, _advice(rule, expected, path[-1]))


def _wrong_value(rule: Rule, expected: str, error: ErrorDetails, path: DocumentPath, places: Places) -> Diagnostic:
    value = _written(error)
    if path[-1] == "target_modules" and isinstance(value, str):
        return _target_text(value, path, places)
    name = places.name(path)
    is_name = rule is faults.WRONG_TYPE and expected == "text" and isinstance(path[-1], int)
    wanted = "a module name" if is_name else expected
    message = f"{name} must be {wanted}, not {described(value)}"
    if rule is faults.BAD_REGEX:
        message = f"{name} is not {expected}"
    scalar = places.scalar(path)
    note = reading_note(scalar) if scalar else None
    meant = None if is_name else _repair(rule, expected, error)
    if meant is None:
        advice = "write a name such as q_proj" if is_name else _advice(rule, expected, value)
        return at_value(places, path, rule, message, "; ".join(filter(None, (advice, note))))
    remedy = "; ".join(filter(None, (f"write {places.spelled(meant)}", note)))
    return at_value(places, path, rule, message, remedy, places.replacement(path, meant))


def _written(error: ErrorDetails) -> Any:
    """The input as the user wrote it: a bare word for an init was expanded before it was checked."""
    value = error["input"]
    if error["type"] == "init_kind" and isinstance(value, Mapping) and set(value) == {"kind"}:
        return value["kind"]
    return value


def _advice(rule: Rule, expected: str, value: Any) -> str:
    if rule is faults.BAD_REGEX:
        return "'*' alone is a glob: write '.*' for any text" if str(value).startswith("*") else "mend the pattern"
    if isinstance(value, float) and math.isnan(value):
        return "write a number"
    if expected.startswith("at "):
        return f"write a value of {expected}"
    return f"write a value {expected}" if expected.startswith(_COMPARISONS) else ""


def _repair(rule: Rule, expected: str, error: ErrorDetails) -> Any:
    """The value that was probably meant, or None."""
    value = _written(error)
    if rule is faults.NOT_A_CHOICE:
        words = list(KINDS) if error["type"] == "init_kind" else _choices(error.get("ctx", {}))
        return _choice(value, words)
    if rule is faults.WRONG_TYPE:
        return repaired(value, expected)
    return None


def _choice(value: Any, words: Sequence[str]) -> str | None:
    if isinstance(value, (bool, Mapping, list)):
        return "none" if value is False and "none" in words else None
    if DTYPES.get(str(value)) in words:
        return DTYPES[str(value)]
    if isinstance(value, str) and value.lower() in ("none", "null", "false", "~") and "none" in words:
        return "none"
    return closest(str(value), words)


def _target_text(value: str, path: DocumentPath, places: Places) -> Diagnostic:
    """A bare text as target: a word that PEFT does not know, one name, joined names or a regex."""
    meant, safe = _target_meant(value.strip())
    message = f"{places.name(path)} must be a list of names, all-linear or {{regex: '…'}}, not {described(value)}"
    fixes = places.replacement(path, meant, safe=safe)
    return at_value(places, path, faults.WRONG_TYPE, message, f"write {places.spelled(meant)}", fixes)


def _target_meant(text: str) -> tuple[Any, bool]:
    """What a bare text as target probably is, and whether that is sure."""
    if text.lower().replace("_", "-") in ("all-linears", "all", "linear") or closest(text, ["all-linear"]):
        return "all-linear", True
    if any(char in text for char in r"\*+?^$|(){}"):
        return {"regex": f".{text}" if text.startswith("*") else text}, False
    return [part.strip("'\"") for part in text.strip("[]").replace(",", " ").split()], True
