"""Make the catalogue: ``python -m lora_spec.inventory.catalogue_build add CONFIG.json ID…``, or ``… rebuild``.

Needs torch and transformers. Trees are built on the meta device, for the class that the auto classes choose and, where
it is another one, for the class that the config's `architectures` names. ``rebuild`` makes every tree anew from the
config that its entry carries.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from lora_spec.inventory.catalogue import FOLDER, INDEX, Entry, read_entry, write_entry
from lora_spec.inventory.collapsed import collapse
from lora_spec.inventory.config_file import config_key
from lora_spec.inventory.live import tree_of
from lora_spec.inventory.meta_build import build

SUFFIX = ".tree"


def build_entry(config: dict[str, Any]) -> Entry:
    """The entry of a config, with a tree for each class."""
    import transformers

    trees: dict[str, Any] = {}
    architecture = next(iter(config.get("architectures") or ()), None)
    named = architecture if architecture and hasattr(transformers, architecture) else None
    for model_class in dict.fromkeys((None, named)):
        model, note = build(config, model_class)
        trees.setdefault(type(model).__name__, collapse(tree_of(model, note=note)))
    return Entry(config, trees)


def add(config: dict[str, Any], ids: list[str]) -> Path:
    """Put a config's structure into the catalogue, under all ``ids``; its file is named after the first."""
    index = read_index()
    key = config_key(config)
    path = FOLDER / index["configs"].get(key, f"{ids[0].lower().replace('/', '--')}{SUFFIX}")
    write_entry(path, build_entry(config))
    index["configs"][key] = path.name
    index["ids"] |= dict.fromkeys(ids, path.name)
    write_index(index)
    return path


def rebuild() -> list[str]:
    """Make every entry anew; the names of the files that changed."""
    changed = []
    for path in sorted(FOLDER.glob(f"*{SUFFIX}")):
        entry = read_entry(path)
        built = build_entry(entry.config)
        if json.loads(json.dumps(built.trees)) != entry.trees:
            changed.append(path.name)
            write_entry(path, built)
    return changed


def read_index() -> dict[str, dict[str, str]]:
    """The index; empty where there is none yet."""
    if not INDEX.exists():
        return {"ids": {}, "configs": {}}
    index: dict[str, dict[str, str]] = json.loads(INDEX.read_text(encoding="utf-8"))
    return index


def write_index(index: dict[str, dict[str, str]]) -> None:
    """Write the index, sorted."""
    ordered = {name: dict(sorted(entries.items())) for name, entries in index.items()}
    INDEX.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add")
    adding.add_argument("config", type=Path)
    adding.add_argument("ids", nargs="+")
    commands.add_parser("rebuild")
    arguments = parser.parse_args()
    if arguments.command == "add":
        print(add(json.loads(arguments.config.read_text(encoding="utf-8")), arguments.ids))  # noqa: T201 - a script
    else:
        print("changed:", *rebuild() or ["nothing"])  # noqa: T201


if __name__ == "__main__":
    main()
