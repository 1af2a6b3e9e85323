"""Which settings forbid or need each other, as JSON Schema: `combinations` for editors.

Each is an ``if`` on values and a ``then`` that only null satisfies, with our own words: editors show them at the value,
and null stays as good as absent. ``dependencies`` and ``not`` cannot do both.
"""

from __future__ import annotations

from typing import Any

from lora_spec.spec.combinations import ADAPTER_FIELDS, VARIANTS
from lora_spec.spec.inits import KINDS
from lora_spec.spec.lora import Lora
from lora_spec.spec.schema_forms import ALL_LINEAR, Schema, init_is
from lora_spec.spec.schema_suggestions import snippet

UNSET: Schema = {"type": "null"}
SET: Schema = {"not": UNSET}
TRUE: Schema = {"const": True}
FILLED: Schema = {"type": "array", "minItems": 1}
ODD: Schema = {"type": "integer", "not": {"multipleOf": 2}}


def conditions() -> list[Schema]:
    """The conditions of the `lora` section, in the order of ``combinations.CONSTRAINTS``."""
    return [
        _adapter_path_excludes(),
        *_new_adapter_is_complete(),
        *_layers_need_names(),
        _layers_pattern_needs_layers(),
        *_lora_bias_is_plain(),
        *_one_variant(),
        *_parameters_are_plain(),
        _something_is_targeted(),
        *_orthogonal_rank_is_even(),
        _megatron_has_no_dora(),
    ]


def _refused(field: str, message: str, given: dict[str, Schema], other: dict[str, Schema] | None = None) -> Schema:
    """No value but null for ``field`` when the settings in ``given`` are there and as they say, and so are those in
    ``other`` where they are there.
    """
    return {
        "if": _condition(given, other or {}),
        "then": {"properties": {field: {"type": "null", "errorMessage": message}}},
    }


def _condition(given: dict[str, Schema], other: dict[str, Schema]) -> Schema:
    """A test on settings, which must not complete them: an editor would insert the null of ``UNSET`` with the key."""
    tests = {name: {**test, "doNotSuggest": True} for name, test in (given | other).items()}
    return {"required": list(given), "properties": tests}


def _adapter_path_excludes() -> Schema:
    others = [name for name in Lora.model_fields if name not in ADAPTER_FIELDS]
    return {
        "if": _condition({"adapter_path": {"type": "string"}}, {}),
        "then": {"properties": {name: _default_only(name) for name in others}},
    }


def _default_only(name: str) -> Schema:
    """The default in its forms, or null: a dumped spec can be read again."""
    message = f"{name} cannot be set together with adapter_path: the adapter brings its own"
    default: Any = Lora.model_fields[name].get_default(call_default_factory=True)
    if default is None:
        return {"type": "null", "errorMessage": message}
    same = [True, "default", {"kind": "default"}] if name == "init" else [default]
    return {"if": {"not": {"enum": [*same, None]}}, "then": {"type": "null", "errorMessage": message}}


def _new_adapter_is_complete() -> list[Schema]:
    both = (
        "rank and alpha are missing: add them, such as rank: 16 and alpha: 32, or adapter_path to continue an adapter"
    )
    rank = "rank is missing: add rank, such as 16 (0 turns LoRA off), or adapter_path to continue an adapter"
    alpha = "alpha is missing: the adapter's scale is alpha / rank; twice the rank is usual"
    return [
        _needed(both, ("rank", "alpha"), {"rank": UNSET, "alpha": UNSET}),
        _needed(rank, ("rank",), {"rank": UNSET}, {"alpha": SET}),
        _needed(alpha, ("alpha",), {"alpha": UNSET}, {"rank": {"not": {"enum": [0, None]}}}),
    ]


NEEDED: dict[str, Schema] = {
    "rank": {"type": "integer", "defaultSnippets": [snippet(16)]},
    "alpha": {"type": "number", "defaultSnippets": [snippet(32)]},
}
"""What a new adapter needs, with the values that an editor inserts."""


def _needed(
    message: str, fields: tuple[str, ...], unset: dict[str, Schema], given: dict[str, Schema] | None = None
) -> Schema:
    """Without an adapter path, ``fields`` must be there, when those in ``unset`` are not set and ``given`` is.

    It is not asked while a key is unknown, which may be the missing one misspelt.
    """
    known = {"enum": list(Lora.model_fields), "doNotSuggest": True}
    return {
        "if": {**_condition(given or {}, {"adapter_path": UNSET, **unset}), "propertyNames": known},
        "then": {
            "required": list(fields),
            "properties": {field: {**NEEDED[field], "errorMessage": message} for field in fields},
            "errorMessage": message,
        },
    }


def _layers_need_names() -> list[Schema]:
    forms = {"all-linear": {"type": "string", "pattern": ALL_LINEAR}, "a regex": {"type": "object"}}
    return [
        _refused(field, f"{field} cannot be used with {form} in target_modules", {"target_modules": test})
        for form, test in forms.items()
        for field in ("layers_to_transform", "layers_pattern")
    ]


def _layers_pattern_needs_layers() -> Schema:
    message = "layers_pattern needs layers_to_transform: it only says where the layer index stands"
    pattern = {"anyOf": [{"type": "string"}, FILLED]}
    return _refused("layers_pattern", message, {"layers_pattern": pattern}, {"layers_to_transform": UNSET})


def _lora_bias_is_plain() -> list[Schema]:
    others = init_is(*(kind for kind in KINDS if kind not in ("default", "random")))
    return [
        _refused(
            "lora_bias",
            "lora_bias does not work with this init: remove one of the two",
            {"lora_bias": TRUE, "init": others},
        ),
        _refused("lora_bias", "lora_bias does not work with use_dora", {"lora_bias": TRUE, "use_dora": TRUE}),
    ]


CHOSEN: dict[str, Schema] = {
    **{name: {"type": "object"} for name in VARIANTS},
    "use_dora": TRUE,
    "alora_invocation_tokens": FILLED,
    "init": init_is("mica"),
}
"""When a variant is chosen, in the order of ``VARIANTS``."""


def _one_variant() -> list[Schema]:
    """Each chosen variant but the first is refused, and told beside the first."""
    names = list(CHOSEN)
    pairs = [(names[:first], names[first], later) for first in range(len(names)) for later in names[first + 1 :]]
    return [_variant_beside(first, later, before) for before, first, later in pairs]


def _variant_beside(first: str, later: str, before: list[str]) -> Schema:
    message = f"{_called(later)} does not work with {first}: PEFT makes a layer one variant of LoRA only"
    unchosen = {name: {"not": CHOSEN[name]} for name in before}
    return _refused(later, message, {later: CHOSEN[later], first: CHOSEN[first]}, unchosen)


def _called(field: str) -> str:
    return "init: mica" if field == "init" else field


def _parameters_are_plain() -> list[Schema]:
    excluded = {
        "dropout": {"type": "number", "exclusiveMinimum": 0},
        "lora_bias": TRUE,
        "fan_in_fan_out": TRUE,
        **CHOSEN,
    }
    why = "does not work with target_parameters: PEFT adapts parameters with plain LoRA only"
    return [
        _refused(field, f"{_called(field)} {why}", {"target_parameters": FILLED, field: test})
        for field, test in excluded.items()
    ]


def _something_is_targeted() -> Schema:
    empty = {"type": "array", "maxItems": 0}
    message = "target_modules is empty, so no module gets an adapter; without the key PEFT takes its default"
    return _refused("target_modules", message, {"target_modules": empty}, {"target_parameters": {"not": FILLED}})


def _orthogonal_rank_is_even() -> list[Schema]:
    orthogonal = init_is("orthogonal")
    even = {"if": ODD, "then": {"type": "null", "errorMessage": "init: orthogonal needs even ranks"}}
    return [
        _refused("rank", "init: orthogonal needs an even rank", {"init": orthogonal, "rank": ODD}),
        {
            "if": _condition({"init": orthogonal}, {}),
            "then": {"properties": {"rank_pattern": {"additionalProperties": even}}},
        },
    ]


def _megatron_has_no_dora() -> Schema:
    settings = {"type": "object", "minProperties": 1}
    message = "use_dora does not work with megatron_config"
    return _refused("use_dora", message, {"use_dora": TRUE, "megatron_config": settings})
