"""Which dialect a document is written in, and the document as a spec."""

from __future__ import annotations

from types import ModuleType

from lora_spec.diagnostics import Diagnostic, Rule, Severity, closest, dotted
from lora_spec.dialects import native, verl
from lora_spec.source.document import Document, Mapping, first_key_range
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import Places

DIALECTS: tuple[ModuleType, ...] = (verl, native)
"""In the order in which they are asked; each has NAME, RULES, recognise and parse."""

UNRECOGNISED = Rule(
    "LS010",
    "unrecognised-file",
    Severity.ERROR,
    "Nothing was checked: the keys of the file belong to no config format that is known here.",
    "finetuning_type: lora\nlora_rank: 16",
    "base_model: tiny-qwen2\nlora: {rank: 16, alpha: 32}",
)
RULES = (UNRECOGNISED,)


def dialect_named(name: str) -> ModuleType:
    """The dialect of that name; ValueError with the names where there is none."""
    for dialect in DIALECTS:
        if name == dialect.NAME:
            return dialect
    names = ", ".join(d.NAME for d in DIALECTS)
    raise ValueError(f"no dialect {name}: this version knows {names}")


def recognise(document: Document) -> ModuleType | None:
    """The first dialect that takes the document for its own, or None."""
    return next((dialect for dialect in DIALECTS if dialect.recognise(document)), None)


def parse(document: Document, *, dialect: str | None = None) -> Parsed:
    """The document as a spec, read in the named dialect or the one that is recognised.

    A document that could not be read, or that no dialect takes, has its diagnostics and no spec.
    """
    chosen = dialect_named(dialect) if dialect else recognise(document)
    if document.root is None:
        return Parsed(None, document.diagnostics, places=Places(document), dialect=chosen.NAME if chosen else "")
    if chosen is None:
        return Parsed(None, (*document.diagnostics, _unrecognised(document)), places=Places(document), dialect="")
    parsed: Parsed = chosen.parse(document)
    return parsed


def _hints(keys: tuple[str, ...]) -> list[str]:
    """The native names of settings that stand at the root, and the sections that keys are near to."""
    from lora_spec.spec.foreign_names import native_name
    from lora_spec.spec.lora import Lora

    hints = []
    for key in keys[:20]:
        path = ("lora", key) if key in Lora.model_fields else native_name(key.lower())
        if path is not None:
            hints.append(f"{key} is {dotted(path)} in a native file")
        elif (near := closest(key, native.SECTIONS, cutoff=0.8)) and near != key:
            hints.append(f"{key} is close to {near}")
    return hints[:5]


_OTHERS = (
    ("a PEFT adapter's config", {"peft_type"}),
    ("an axolotl config", {*native.AXOLOTL} - {"datasets", "plugins"}),
    ("a LLaMA-Factory config", {"finetuning_type", "lora_target"}),
    ("an ms-swift config", {"train_type", "tuner_type", "sft_type"}),
    ("a TRL config", {"use_peft", "lora_target_modules"}),
)
"""Formats that are not read, by keys that only they have."""


def _unrecognised(document: Document) -> Diagnostic:
    keys = document.root.keys() if isinstance(document.root, Mapping) else ()
    hints = "; ".join(_hints(keys))
    if other := next((name for name, own in _OTHERS if own.intersection(keys)), None):
        start = f"it looks like {other}, which is not read; lora-spec init MODEL writes a native file to start from"
        start += (
            f", where {hints.replace(' in a native file;', ',').removesuffix(' in a native file')}" if hints else ""
        )
    else:
        start = hints or "a native file has base_model and lora; verl's has model.path or model.partial_pretrain"
        start += f"; --dialect NAME reads it as one of {', '.join(d.NAME for d in DIALECTS)}"
    return Diagnostic(
        code=UNRECOGNISED.code,
        name=UNRECOGNISED.name,
        severity=UNRECOGNISED.severity,
        message="no known config format has these keys" + (f": {', '.join(keys[:5])}" if keys else ""),
        help=start,
        range=first_key_range(document.root),
    )
