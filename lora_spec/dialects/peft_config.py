"""A ``peft.LoraConfig`` in memory, as a spec. PEFT is not imported: whoever has such an object has imported it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from lora_spec.diagnostics import DocumentPath
from lora_spec.spec.faults import OUT_OF_RANGE
from lora_spec.spec.lora import Lora
from lora_spec.spec.parsing import Parsed, parse_values
from lora_spec.spec.peft_arguments import CONFIG_OF_INIT, RENAMED
from lora_spec.spec.places import Places, at_value

NO_BASE = "the model at hand"
"""Stands for the base model where the config names none."""


def is_peft_config(value: Any) -> bool:
    """Whether ``value`` is a ``LoraConfig`` of PEFT."""
    classes: tuple[type, ...] = type(value).__mro__
    return any(c.__name__ == "LoraConfig" and c.__module__.startswith("peft.") for c in classes)


def parse_peft_config(config: Any) -> Parsed:
    """The config's values as a spec; diagnostics name them as PEFT does."""
    said = {field.name: getattr(config, field.name) for field in fields(config)}
    moved: dict[DocumentPath, DocumentPath] = {("lora", name): (theirs(name),) for name in Lora.model_fields}
    values = {"base_model": said["base_model_name_or_path"] or NO_BASE, "lora": _lora(said)}
    places, rank = Places(None, moved), ("lora", "rank")
    if said["r"] != 0 or isinstance(said["r"], bool):
        return parse_values(values, places, dialect="peft")
    zero = at_value(places, rank, OUT_OF_RANGE, "r must be at least 1, not 0", "write a rank such as 16")
    return parse_values(
        {**values, "lora": {**_lora(said), "rank": None}},
        places,
        dialect="peft",
        already=(zero,),
        suspects=frozenset({rank}),
    )


def theirs(name: str) -> str:
    """PEFT's name of a native field of `lora`."""
    return RENAMED.get(name, name)


def _lora(said: Mapping[str, Any]) -> dict[str, Any]:
    lora: dict[str, Any] = {}
    for name, field in Lora.model_fields.items():
        value = _plain(said.get(theirs(name)))
        if value is not None and value != _plain(field.get_default(call_default_factory=True)):
            lora[name] = value
    for name in ("target_modules", "exclude_modules"):
        text = lora.get(name)
        if isinstance(text, str) and (name, text.lower()) != ("target_modules", "all-linear"):
            lora[name] = {"regex": text}
    return {**lora, "rank": said["r"], "alpha": said["lora_alpha"], "init": _init(said)}


def _init(said: Mapping[str, Any]) -> Any:
    init = said["init_lora_weights"]
    if isinstance(init, str) and (niter := init.removeprefix("pissa_niter_")) != init and niter.isdigit():
        return {"kind": "pissa", "niter": int(niter)}
    settings = _plain(said.get(CONFIG_OF_INIT.get(init, ""))) if isinstance(init, str) else None
    return {"kind": init, **settings} if isinstance(settings, dict) else init


def _plain(value: Any) -> Any:
    """Builtin values: sets sorted, enums as their text, configs of PEFT as dicts of what differs from nothing."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value.value if isinstance(value, str) and hasattr(value, "value") else value
