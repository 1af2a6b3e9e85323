"""Paths of the command line as documents."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lora_spec.source.document import Document
from lora_spec.source.limits import MAX_BYTES
from lora_spec.source.reading import read_path, read_text

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
PASSED_OVER = {"node_modules", "__pycache__", "venv"}


def read_input(path: str, stdin_filename: str | None = None) -> Document:
    """The document at ``path``, or on standard input for ``-``; raises OSError where it cannot be opened."""
    if path != STANDARD_INPUT:
        return read_path(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    document = read_text(data, name=stdin_filename)
    return replace(document, path=stdin_filename or "<stdin>")


def files_in(folder: Path) -> Iterator[Path]:
    """The YAML and JSON files below ``folder``, sorted; hidden folders and those of tools are passed over.

    A folder that cannot be listed is yielded itself: opening it says why.
    """
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        yield folder
        return
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - pathlib's raises where a link may not be followed
            if not path.name.startswith(".") and path.name not in PASSED_OVER and not path.is_symlink():
                yield from files_in(path)
        elif path.suffix.lower() in SUFFIXES:
            yield path


def trouble(path: str, error: OSError) -> str:
    """Why a path cannot be opened, for standard error."""
    return f"lora-spec: cannot open {path}: {(error.strerror or str(error)).lower()}\n"
