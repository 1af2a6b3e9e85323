"""Trees that were built here, kept for the next time.

One file for each config, class and version of transformers. A file that cannot be read is built again; two processes
that write the same file write the same bytes, and each writes its own first and renames it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

from lora_spec.inventory.collapsed import FORMAT, expand
from lora_spec.inventory.config_file import config_key
from lora_spec.inventory.tree import ModuleTree


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/lora-spec/trees``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "lora-spec" / "trees"


def cache_key(config: dict[str, Any], model_class: str | None, transformers: str) -> str:
    """What a tree depends on."""
    said = json.dumps([FORMAT, config_key(config), model_class, transformers])
    return hashlib.sha256(said.encode()).hexdigest()[:40]


def read_tree(key: str) -> ModuleTree | None:
    """The tree under ``key``; None where there is none, or none that can be read."""
    try:
        value = json.loads(zlib.decompress((cache_folder() / key).read_bytes()))
        return expand(value["tree"]) if value["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error):
        return None


def write_tree(key: str, collapsed: dict[str, Any]) -> None:
    """Keep a collapsed tree; a folder that cannot be written is no reason to stop."""
    folder = cache_folder()
    data = zlib.compress(json.dumps({"key": key, "tree": collapsed}, separators=(",", ":")).encode())
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(folder / key)
