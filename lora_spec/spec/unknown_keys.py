"""What a key that no section has was probably meant to be, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lora_spec.base import StrictModel
from lora_spec.diagnostics import Diagnostic, DocumentPath, Edit, Fix, closest, dotted
from lora_spec.spec import faults
from lora_spec.spec.foreign_names import native_name, remedy_for
from lora_spec.spec.inits import INITS, KINDS
from lora_spec.spec.places import Places, at_key
from lora_spec.spec.wording import yaml_text


class Meant(NamedTuple):
    """The native path that a key was probably meant to be; ``sure`` where its value can be judged as that setting's."""

    path: DocumentPath
    sure: bool


def unknown_key(
    path: DocumentPath, meant: Meant | None, values: Mapping[str, Any], places: Places, known: tuple[str, ...]
) -> Diagnostic:
    """An unknown key: what was meant, or what to do instead."""
    key = str(path[-1])
    name = dotted(places.path(path)[:-1]) or "the document"
    message = f"unknown key {key if key.isidentifier() else yaml_text(key)} in {name}"
    remedy, fixes = _remedy(path, meant, values, places, known)
    return at_key(places, path, faults.UNKNOWN_KEY, message, remedy, fixes)


def _remedy(
    path: DocumentPath, meant: Meant | None, values: Mapping[str, Any], places: Places, known: tuple[str, ...]
) -> tuple[str, tuple[Fix, ...]]:
    if special := remedy_for(str(path[-1])):
        return special, ()
    if form := _form(path, values, places):
        return form
    if meant is not None:
        return _towards(meant.path, path, values, places)
    listed = ", ".join(known)
    return (f"known here: {listed}" if 0 < len(listed) <= _SHORT else _UNHEARD_OF), ()


def _towards(
    meant: DocumentPath, path: DocumentPath, values: Mapping[str, Any], places: Places
) -> tuple[str, tuple[Fix, ...]]:
    key, setting, is_here = str(path[-1]), str(meant[-1]), meant[:-1] == path[:-1]
    if meant == path[:-1]:
        return f"{setting} stands inside {setting}: move its settings one level up", ()
    if siblings(meant, values).get(setting) is not None:
        return f"{setting if is_here else dotted(meant)} is set already: remove {key}", ()
    if is_here:
        return f"did you mean {setting}?", places.renaming(path, setting)
    return f"the setting is {dotted(meant)}: move it there", ()


_SHORT = 200
"""A list of known keys that is longer than this, in characters, is no help."""

_UNHEARD_OF = "remove it: neither this format nor PEFT has it"


def _form(path: DocumentPath, values: Mapping[str, Any], places: Places) -> tuple[str, tuple[Fix, ...]] | None:
    """The remedy for a key that is no key: the colon without its space, the decimals after a comma."""
    key, around = str(path[-1]), siblings(path, values)
    if around.get(key) is not None:
        return None
    name, colon, value = key.partition(":")
    place = places.key(path)
    if colon and value and name.isidentifier():
        text = f"{name}: {value}"
        fixes = (Fix(f"write {text}", safe=True, edits=(Edit(place, text),)),) if place else ()
        return f"a space is missing after the colon: write {text}", fixes
    if key.isdigit():
        before = next((k for k, following in zip(around, list(around)[1:], strict=False) if following == key), None)
        whole = around.get(before) if before is not None else None
        if isinstance(whole, int):
            return f"a comma separates settings: write {before}: {whole}.{key} with a point", ()
    return None


# --- what was meant ----------------------------------------------------------------------------------------------------


def meant_by(path: DocumentPath, values: Mapping[str, Any]) -> Meant | None:
    """What an unknown key was probably meant to be: the same word in another spelling, another tool's name, the name
    of a setting elsewhere, then what is near.
    """
    key, parent = str(path[-1]), path[:-1]
    if remedy_for(key) or not key.strip():
        return None
    if parent and _plain(key) == parent[-1] and isinstance(siblings(path, values).get(key), Mapping):
        return Meant(parent, sure=True)
    found = _in_section(key, parent, values) or _elsewhere(key, parent)
    name, colon, _ = key.partition(":")
    if colon and name in keys_at(parent, values):
        return Meant((*parent, name), sure=False)
    return None if found is None or found.path == path[: len(found.path)] else found


def _in_section(key: str, parent: DocumentPath, values: Mapping[str, Any]) -> Meant | None:
    known = keys_at(parent, values)
    foreign = native_name(_plain(key), parent)
    if same := _same(key, known):
        return Meant((*parent, same), sure=True)
    if foreign is not None and foreign[:-1] == parent:
        return Meant(foreign, sure=True)
    if foreign is None and (part := _part(key, known)):
        return Meant((*parent, part), sure=True)
    if any(_same(key, keys_of(section)) for section in _SECTIONS if section != parent):
        return None
    if foreign is None and (near := _near(key, known)):
        return Meant((*parent, near), sure=True)
    return None


def _elsewhere(key: str, parent: DocumentPath) -> Meant | None:
    for section in _SECTIONS:
        if section != parent and (same := _same(key, keys_of(section))):
            return Meant((*section, same), sure=True)
    if foreign := native_name(_plain(key), parent):
        return Meant(foreign, sure=True)
    for section in _SECTIONS:
        if section != parent and len(key) > _FUZZY and (near := closest(key, keys_of(section), cutoff=0.8)):
            return Meant((*section, near), sure=False)
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
_FUZZY = 3
"""Words up to this length are near to everything."""

_AROUND = " \t\r\n:;,.'\"`\u201c\u201d\u2018\u2019\u00a0\u200b\ufeff"


_DASHES = dict.fromkeys(map(ord, "- \u2010\u2011\u2012\u2013\u2014\u2212"), "_")


def _plain(key: str) -> str:
    """A key less what clings to it, with other dashes and capitals made plain."""
    return key.strip(_AROUND).lower().translate(_DASHES)


def _same(key: str, known: tuple[str, ...]) -> str | None:
    """The known key that ``key`` is in another spelling."""
    word = _plain(key).replace("_", "")
    return next((name for name in known if name.replace("_", "") == word), None)


def _near(key: str, known: tuple[str, ...]) -> str | None:
    """The known key that ``key`` is a misspelling of."""
    return closest(key, known) if len(key) > _FUZZY else None


def _part(key: str, known: tuple[str, ...]) -> str | None:
    """The one known key that has ``key`` among its words: `bits` in `loftq_bits`."""
    parts = [name for name in known if f"_{_plain(key)}_" in f"_{name}_"]
    return parts[0] if len(parts) == 1 else None


def keys_at(path: DocumentPath, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that the section at ``path`` takes in this document: an init's are those of its kind."""
    if path != ("lora", "init"):
        return keys_of(path)
    kind = siblings((*path, ""), values).get("kind")
    return next(
        (tuple(model.model_fields) for word, model in zip(KINDS, INITS, strict=True) if word == kind), ("kind",)
    )


def keys_of(path: DocumentPath) -> tuple[str, ...]:
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


def siblings(path: DocumentPath, values: Any) -> Mapping[str, Any]:
    """The mapping that holds the last key of ``path``; empty where there is none."""
    for part in path[:-1]:
        values = values.get(part, {}) if isinstance(values, Mapping) else {}
    return values if isinstance(values, Mapping) else {}
