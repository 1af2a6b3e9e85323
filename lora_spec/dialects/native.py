"""The native document: its keys are the spec's, its scalars YAML 1.2's core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity, closest
from lora_spec.dialects.open_values import open_paths
from lora_spec.inventory.local_paths import is_there, local_path
from lora_spec.source.document import Document, Mapping, Scalar, Style, walk
from lora_spec.source.faults import UNREADABLE_VALUE
from lora_spec.source.scalars import resolve_core, to_plain
from lora_spec.spec.parsing import Parsed, parse_values
from lora_spec.spec.places import Places, at_value
from lora_spec.spec.reading_notes import reading_note
from lora_spec.spec.root import LoraSpec

NAME = "lora-spec"

READ_OTHERWISE = Rule(
    "LS016",
    "read-otherwise",
    Severity.INFO,
    "This format reads YAML 1.2, as editors do. PyYAML and the trainers that use it read YAML 1.1, where some plain "
    "words and numbers are something else. Nothing is wrong here; copying the line into such a trainer's file would be.",
    "lora: {rank: 16, alpha: 32, kasa_config: {beta: 1e-4}}",
    "lora: {rank: 16, alpha: 32, kasa_config: {beta: 0.0001}}",
)

RULES = (READ_OTHERWISE,)

SECTIONS = tuple(LoraSpec.model_fields)


def recognise(document: Document) -> bool:
    """A `lora` section, be it misspelt, a base model with a section or LoRA settings of ours, or a modeline that names our
    schema.
    """
    root = document.root
    if not isinstance(root, Mapping):
        return False
    if any("$schema=" in comment and "lora-spec" in comment for comment in document.comments):
        return True
    keys = set(root.keys())
    if isinstance(root.get("lora"), Mapping):
        return not keys & {"_target_", "_component_"}  # a part of a config that is composed elsewhere
    if keys & AXOLOTL:
        return False
    sections = [key for key in keys if isinstance(root.get(key), Mapping)]
    if "base_model" not in keys:
        return any(_is_lora_section(root, key) and closest(key, ("lora",), cutoff=0.75) for key in sections)
    return (
        len(keys) == 1
        or bool(keys & {*SECTIONS[1:], *SETTINGS})
        or any(closest(key, SECTIONS[1:], cutoff=0.75) or _is_lora_section(root, key) for key in sections)
    )


AXOLOTL = {"datasets", "adapter", "lora_r", "micro_batch_size", "sequence_len", "pretraining_dataset", "plugins"}
"""Keys by which an axolotl file is known, which has `base_model` too."""


SETTINGS = {"rank", "alpha", "target_modules"}
"""What a `lora` section is known by, also where it has another name or its settings stand at the root."""


def _is_lora_section(root: Mapping, key: str) -> bool:
    section = root.get(key)
    return isinstance(section, Mapping) and len({*SETTINGS, "r", "lora_alpha"} & set(section.keys())) > 1


def parse(document: Document) -> Parsed:
    """The document's own keys as a spec."""
    root = document.root
    values = to_plain(root, resolve_core) if isinstance(root, Mapping) else {}
    assert isinstance(values, dict)
    values = with_local_paths(values, document.folder)
    places = Places(document)
    parsed = parse_values(
        values,
        places,
        open_paths=frozenset(path for path in open_paths(root) if path[0] in SECTIONS),
        dialect=NAME,
        already=document.diagnostics,
        suspects=unreadable(document),
    )
    return replace(parsed, diagnostics=(*parsed.diagnostics, *_read_otherwise(parsed)))


def unreadable(document: Document) -> frozenset[DocumentPath]:
    """The user's paths of Python values that no config can hold, which were told by the reader."""
    return frozenset(
        d.document_path for d in document.diagnostics if d.code == UNREADABLE_VALUE.code and d.document_path
    )


def with_local_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """``values`` with relative paths taken from ``folder``, the file's: those of folders that are there (else the name
    may be a hub id), and those of files that an init writes.
    """
    values = {**values, **_joined(values, ("base_model",), folder, must_exist=True)}
    if isinstance(lora := values.get("lora"), dict):
        values["lora"] = {**lora, **_joined(lora, ("adapter_path",), folder, must_exist=True)}
        if isinstance(init := lora.get("init"), dict):
            values["lora"]["init"] = {
                **init,
                **_joined(init, ("cache_file", "covariance_file"), folder, must_exist=False),
            }
    return values


def _joined(section: dict[str, Any], keys: tuple[str, ...], folder: Path, *, must_exist: bool) -> dict[str, str]:
    paths = {key: local_path(value) for key in keys if isinstance(value := section.get(key), str) and value}
    return {k: str(folder / path) for k, path in paths.items() if not must_exist or is_there(folder / path)}


def _read_otherwise(parsed: Parsed) -> Iterator[Diagnostic]:
    document = parsed.places.document
    assert document is not None
    for path, node in walk(document.root) if document.root else ():
        if not isinstance(node, Scalar) or node.style is not Style.PLAIN or not parsed.knows(path):
            continue
        if note := reading_note(node):
            yield at_value(parsed.places, path, READ_OTHERWISE, note)
