"""Each of pydantic's errors as one diagnostic in the user's words, at its place, with the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from lora_spec.diagnostics import Diagnostic, DocumentPath, Fix, Rule, dotted
from lora_spec.source.document import Scalar
from lora_spec.spec import faults, repairs
from lora_spec.spec.foreign_names import NOTHING, native_name
from lora_spec.spec.inits import KINDS
from lora_spec.spec.places import Places, at_key, at_value
from lora_spec.spec.reading_notes import reading_note
from lora_spec.spec.unknown_keys import Meant, keys_at, meant_by, unknown_key
from lora_spec.spec.wording import described


class Objection(NamedTuple):
    """A diagnostic and the native path whose value cannot be used; ``meant`` is what an unknown key probably was."""

    path: DocumentPath
    diagnostic: Diagnostic
    meant: Meant | None = None
    is_missing: bool = False
    is_unknown: bool = False


def objection(error: ErrorDetails, values: Mapping[str, Any], places: Places) -> Objection:
    """What ``error`` says of ``values``, in the user's words."""
    path = _native_path(error["loc"])
    path = _shown_path(path, values)
    error = {**error, "input": written(values, path, error["input"])}
    kind = error["type"]
    if kind == "missing" and isinstance(path[-1], int):  # the second of a pair
        path, error = path[:-1], {**error, "type": "too_short"}
        kind = "too_short"
    if kind == "init_kind" and isinstance(error["input"], Mapping):
        return _init_kind(error, path, values, places)
    if kind == "extra_forbidden":
        return _unknown(path, values, places)
    if kind == "missing" and path[-1] == "regex":
        found = _not_a_regex(path[:-1], written(values, path[:-1], {}), places)
        return Objection(path, found, is_missing=True)
    if kind == "missing":
        return Objection(path, _missing_key(path, places), is_missing=True)
    rule, expected = _expectation(error)
    if error["loc"][-1] == "[key]":
        return Objection(path, _wrong_key(rule, expected, path, places))
    return Objection(path, _wrong_value(rule, expected, error, path, places))


def _unknown(path: DocumentPath, values: Mapping[str, Any], places: Places) -> Objection:
    meant = meant_by(path, values)
    found = unknown_key(path, meant, values, places, keys_at(path[:-1], values))
    return Objection(path, found, meant, is_unknown=True)


def _init_kind(error: ErrorDetails, path: DocumentPath, values: Mapping[str, Any], places: Places) -> Objection:
    """An init in its long form, without a kind or with one that does not exist."""
    inner, settings = (*path, "kind"), error["input"]
    if settings.get("kind") is None:
        other = next((key for key in settings if native_name(key, path) == inner), None)
        return _unknown((*path, other), values, places) if other else Objection(path, _missing_key(inner, places))
    value = settings["kind"]
    found = _wrong_value(faults.NOT_A_CHOICE, error["msg"], {**error, "input": value}, inner, places)
    return Objection(path, found)


def _shown_path(path: DocumentPath, values: Mapping[str, Any]) -> DocumentPath:
    """Where an error is told: at the whole where its parts are ours, or all of them are wrong in the same way."""
    if path[:2] == ("lora", "megatron_config"):
        return path[:2]
    whole = written(values, path[:-1], None) if path and isinstance(path[-1], int) else []
    is_flat_pair = path[:2] == ("lora", "layer_replication") and isinstance(whole, list) and _are_numbers(whole)
    return path[:-1] if len(path) == 3 and (is_flat_pair or not isinstance(whole, (list, tuple))) else path


def _are_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, int) for value in values)


def written(values: Any, path: DocumentPath, otherwise: Any) -> Any:
    """The value as the user wrote it, before a short form was expanded; ``otherwise`` where it cannot be found."""
    for part in path:
        inner = dict(enumerate(values)) if isinstance(values, (list, tuple)) else values
        if not isinstance(inner, Mapping) or part not in inner:
            return otherwise
        values = inner[part]
    return values


def _native_path(loc: tuple[int | str, ...]) -> DocumentPath:
    """Pydantic's location less the tags of its unions and its mark of a key."""
    return tuple(part for part in loc if not (isinstance(part, str) and (part[:1] == "<" or part == "[key]")))


# --- keys ------------------------------------------------------------------------------------------------------------


def _missing_key(path: DocumentPath, places: Places) -> Diagnostic:
    *section, key = places.path(path)
    where = f" in {dotted(tuple(section))}" if section else ""
    remedy = f"add {key}{_EXAMPLES.get(str(path[-1]), '')}"
    return at_key(places, path, faults.MISSING_KEY, f"{key} is missing{where}", remedy)


_EXAMPLES = {
    "base_model": ": a hub id such as Qwen/Qwen2.5-0.5B-Instruct, or a local folder",
    "strategy": ": fsdp2, fsdp1 or ddp",
    "bits": ": 4 or 8",
    "engine": ": vllm, sglang or llama.cpp",
    "kind": ", such as kind: pissa",
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
    "dict_type": "a mapping of names to values",
    "model_type": "a mapping of settings",
    "model_attributes_type": "a mapping of settings",
    "too_short": "a pair such as [0, 4]",
    "too_long": "a pair such as [0, 4]",
    "string_too_short": "text that is not empty",
    "finite_number": "a finite number",
    "recursion_loop": "nested less deeply",
    "invalid-json-value": "plain values: text, numbers, lists and mappings",
}

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}

_COMPARISONS = tuple(word for _, word in _BOUNDS.values())

_PATTERNS = {
    "adapter_name": "a name without dots",
    "model_class": "the name of a class, such as Qwen2ForCausalLM",
    "device": "cpu, cuda, cuda:1 or another device of PyTorch",
}


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
        return faults.OUT_OF_RANGE, f"{word} {_plainly(context[bound])}"
    match kind:
        case "literal_error":
            expected = f"one of {', '.join(map(str, _choices(context)))}"
        case "bad_regex":
            expected = f"a regular expression: {context['problem']}"
        case "string_pattern_mismatch":
            expected = next(words for key, words in _PATTERNS.items() if key in error["loc"])
        case _:
            expected = _TYPES.get(kind, error["msg"])
    return _RULES.get(kind, faults.WRONG_TYPE), expected


def _plainly(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _choices(context: Mapping[str, Any]) -> list[Any]:
    """The words of a literal as pydantic lists them, ``'a', 'b' or 'c'``; numbers without quotes."""
    words = str(context["expected"]).replace(" or ", ", ").split(", ")
    return [word[1:-1] if word.startswith("'") else int(word) for word in words]


def _wrong_key(rule: Rule, expected: str, path: DocumentPath, places: Places) -> Diagnostic:
    message = f"the key {path[-1]} in {places.name(path[:-1])} is not {expected}"
    return at_key(places, path, rule, message, _advice(rule, expected, path, path[-1]))


def _not_a_regex(path: DocumentPath, value: Any, places: Places) -> Diagnostic:
    """A mapping that is none of the forms of a target: often a list of names with colons."""
    names = [str(key) for key in value] if isinstance(value, Mapping) else []
    shown = f"[{', '.join(names)}]" if names and all(name.isidentifier() for name in names) else "[q_proj, v_proj]"
    regex = _regex_form(places)
    message = f"{places.name(path)} must be a list of names or {regex}, not a mapping"
    return at_value(places, path, faults.WRONG_TYPE, message, f"write {shown}, or {regex}")


def _regex_form(places: Places) -> str:
    """How the user's format has a regex: other tools take any text for one."""
    return "{regex: '…'}" if places.core else "a regex as text"


def _wrong_value(rule: Rule, expected: str, error: ErrorDetails, path: DocumentPath, places: Places) -> Diagnostic:
    value, name = error["input"], places.name(path)
    scalar = places.scalar(path)
    note = reading_note(scalar) if scalar and places.core else None
    if isinstance(path[-1], int) and rule is faults.WRONG_TYPE and expected == "text":
        expected, (remedy, fixes) = "a module name", _item_remedy(value, path, places)
    elif path[-1] in ("target_modules", "exclude_modules"):
        rule, expected = faults.WRONG_TYPE, _target_forms(path, places)
        meant = repairs.targets(value, path[-1] == "target_modules") if isinstance(value, str) else None
        remedy, fixes = _writing(meant, path, places) or (_name_them(path), ())
    else:
        if path[-1] == "layer_replication":
            expected = "a list of pairs, such as [[0, 4], [2, 6]]"
        meant = _meant(rule, expected, error, path)
        remedy, fixes = _writing(meant, path, places) or (_advice(rule, expected, path, value), ())
    message = f"{name} must be {expected}, not {_shown(value, scalar)}"
    if rule is faults.BAD_REGEX:
        message = f"{name} is not {expected}"
    if isinstance(value, str) and not value and rule is faults.OUT_OF_RANGE:
        message = f"{name} is empty"
    return at_value(places, path, rule, message, "; ".join(filter(None, (remedy, note))), fixes)


def _target_forms(path: DocumentPath, places: Places) -> str:
    word = ", all-linear" if path[-1] == "target_modules" else ""
    return f"a list of names{word} or {_regex_form(places)}"


def _name_them(path: DocumentPath) -> str:
    if path[-1] == "exclude_modules":
        return "name the modules, such as [lm_head], or remove the key"
    return "name the modules, such as [q_proj, v_proj], or write all-linear; without the key PEFT takes its default"


def _shown(value: Any, scalar: Scalar | None) -> str:
    """A number as it is written, since 1e400 reads as infinite; anything else in words."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return scalar.raw if is_number and scalar and len(scalar.raw) < 40 else described(value)


def _writing(meant: repairs.Meant | None, path: DocumentPath, places: Places) -> tuple[str, tuple[Fix, ...]] | None:
    """The remedy that writes what was meant, and its fix."""
    if meant is None:
        return None
    return f"write {places.spelled(meant.value)}", places.replacement(path, meant.value, safe=meant.safe)


def _item_remedy(value: Any, path: DocumentPath, places: Places) -> tuple[str, tuple[Fix, ...]]:
    """What to do with an item that is no name: a list in the list, or a name with a colon."""
    names = value if isinstance(value, list) else list(value) if isinstance(value, Mapping) and _is_bare(value) else []
    if names and all(isinstance(name, str) and name.isidentifier() for name in names):
        return f"write {', '.join(names)}", places.items(path, names)
    return "remove it" if value is None else "write a name such as q_proj", ()


def _is_bare(value: Mapping[str, Any]) -> bool:
    return all(inner is None for inner in value.values())


def _advice(rule: Rule, expected: str, path: DocumentPath, value: Any) -> str:
    if rule is faults.BAD_REGEX:
        return _pattern_advice(path)
    if path[-1] == "rank" and expected.startswith("at least"):
        return "write a rank of 1 or more, such as 16; 0 turns LoRA off"
    if path[-1] == "dropout" and rule is faults.OUT_OF_RANGE and isinstance(value, (int, float)):
        return _dropout_advice(value)
    if expected.startswith(_COMPARISONS):
        return f"write a value {'of ' if expected.startswith('at ') else ''}{expected}"
    return _section_advice(str(path[-1]), value) if expected.startswith("a mapping") else _PLAIN.get(expected, "")


def _pattern_advice(path: DocumentPath) -> str:
    """A key of a pattern matches the end of a name, so that a glob for all names is not needed."""
    ending = str(path[-1]).lstrip("*.")
    is_glob = str(path[-2]).endswith("_pattern") and ending != path[-1] and ending.replace(".", "").isidentifier()
    return f"write {ending}: a key matches wherever it ends a module's name" if is_glob else "mend the pattern"


def _dropout_advice(value: float) -> str:
    if value < 0:
        return "write 0 to turn it off"
    return f"write {value / 100:g} for {value:g} percent" if 2 <= value < 100 else "write a value below 1, such as 0.05"


def _section_advice(field: str, value: Any) -> str:
    if isinstance(value, str) and "=" in value:
        return "write key: value, with a colon"
    return f"write {_SECTIONS.get(field, 'key: value pairs')}"


_PLAIN = {
    "a whole number": "write a whole number, such as 16",
    "a number": "write a number, such as 16 or 0.05",
    "a finite number": "write a number, such as 32",
    "true or false": "write true or false, without quotes",
    "text that is not empty": "write it out, or remove the key",
    "a name without dots": "write a name such as default",
    "a pair such as [0, 4]": "write [[0, 4], [2, 6]] for layers 0 to 3, then 2 to 5",
}

_SECTIONS = {
    "lora": "its settings below it, such as {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
    "prepare": "its settings below it, such as {dtype: bfloat16}",
    "fsdp": "{strategy: fsdp2}",
    "quantization": "{bits: 4}",
    "serve": "{engine: vllm}",
    "train": "its settings below it, such as {world_size: 8}",
    "rank_pattern": "{q_proj: 8}",
    "alpha_pattern": "{q_proj: 16}",
    "use_bdlora": "{target_modules_bd_a: [o_proj], target_modules_bd_b: [q_proj]}",
}


def _meant(rule: Rule, expected: str, error: ErrorDetails, path: DocumentPath) -> repairs.Meant | None:
    """The value that was probably meant, or None."""
    value, field = error["input"], str(path[-1])
    word: Any = None
    if error["type"] == "init_kind":
        word = repairs.init(value, KINDS)
    elif rule is faults.NOT_A_CHOICE:
        word = repairs.one_of(value, _choices(error.get("ctx", {})))
    elif rule is faults.BAD_REGEX and str(value).startswith("*"):
        return repairs.Meant(repairs.as_regex(str(value)), safe=False)
    elif field == "device":
        word = repairs.device(value)
    elif rule is faults.WRONG_TYPE and field in _SHORT_FORMS:
        word = repairs.section(value, *_SHORT_FORMS[field])
    elif rule is faults.WRONG_TYPE and value is True and field in _ALL_DEFAULTS:
        word = {}
    elif rule is faults.WRONG_TYPE and len(path) > 1 and path[1] in _NUMBER_LISTS:
        return repairs.numbers(value, expected)
    if word is not None:
        return repairs.Meant(word)
    return (
        repairs.of_type(value, expected) or _switched_off(field, expected, value) if rule is faults.WRONG_TYPE else None
    )


def _switched_off(field: str, expected: str, value: Any) -> repairs.Meant | None:
    """A word for nothing as null, or as the 0 that turns dropout off."""
    is_nothing = value is False or (isinstance(value, str) and value.lower() in NOTHING)
    if not is_nothing or field in _NEEDED or expected == "text":
        return None
    return repairs.Meant(0 if field == "dropout" else None)


_SHORT_FORMS: dict[str, tuple[str, Sequence[Any]]] = {
    "fsdp": ("strategy", ("fsdp2", "fsdp1", "ddp")),
    "quantization": ("bits", (4, 8)),
    "serve": ("engine", ("vllm", "sglang", "llama.cpp")),
}
"""Sections with one required setting, whose value alone says what was meant."""

_ALL_DEFAULTS = ("kasa_config", "velora_config", "monteclora_config", "arrow_config", "runtime_config")
"""Variants that work without a setting."""

_NUMBER_LISTS = ("layers_to_transform", "trainable_token_indices", "alora_invocation_tokens", "layer_replication")
"""Lists of numbers of `lora`."""

_NEEDED = ("base_model", "rank", "alpha", "bits", "strategy", "engine", "kind", "regex", "target_modules")
"""Settings that null does not switch off."""
