"""The shipped trees: one small file for each structure, and an index by hub id and by what the config contains."""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lora_spec.diagnostics import closest
from lora_spec.inventory.collapsed import expand
from lora_spec.inventory.config_file import config_key
from lora_spec.inventory.tree import ModuleTree

FOLDER = Path(__file__).parent / "models"
INDEX = FOLDER / "index.json"


class Entry(NamedTuple):
    """A structure: its config and its trees by class, the default class first."""

    config: dict[str, Any]
    trees: dict[str, Any]

    def tree(self, model_class: str | None = None) -> ModuleTree | None:
        """The tree of that class, by default of the one that transformers' auto classes choose; None where the
        catalogue lacks the class.
        """
        wanted = model_class or next(iter(self.trees))
        return expand(self.trees[wanted]) if wanted in self.trees else None


@cache
def _index() -> dict[str, dict[str, str]]:
    index: dict[str, dict[str, str]] = json.loads(INDEX.read_text(encoding="utf-8"))
    return index


def model_ids() -> tuple[str, ...]:
    """Every hub id that the catalogue knows."""
    return tuple(_index()["ids"])


def nearest_id(model_id: str) -> str | None:
    """The hub id that a name without its organisation, or with a slip, was probably meant to be."""
    if "/" not in model_id:
        wanted = f"/{model_id.lower()}"
        return next((one for one in model_ids() if one.lower().endswith(wanted)), None)
    return closest(model_id, model_ids(), cutoff=0.93)


def entry_by_id(model_id: str) -> Entry | None:
    """The entry of a hub id, without regard to case, as the hub has it; None where there is none."""
    file = _index()["ids"].get(model_id) or _ids_in_lower_case().get(model_id.lower())
    return read_entry(FOLDER / file) if file else None


def entry_by_config(config: dict[str, Any]) -> Entry | None:
    """The entry with the same structure as ``config``, or None."""
    file = _index()["configs"].get(config_key(config))
    return read_entry(FOLDER / file) if file else None


@cache
def _ids_in_lower_case() -> dict[str, str]:
    return {model_id.lower(): file for model_id, file in _index()["ids"].items()}


def read_entry(path: Path) -> Entry:
    """One file of the catalogue."""
    value = json.loads(zlib.decompress(path.read_bytes()))
    return Entry(value["config"], value["trees"])


def write_entry(path: Path, entry: Entry) -> None:
    """Write one file of the catalogue, the same bytes for the same entry."""
    text = json.dumps({"config": entry.config, "trees": entry.trees}, separators=(",", ":"))
    path.write_bytes(zlib.compress(text.encode(), 9))
