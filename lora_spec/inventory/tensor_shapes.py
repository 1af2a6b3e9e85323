"""The names and shapes of the tensors in a safetensors file, from its header alone: no tensor is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lora_spec.inventory.tree import Shape

LONGEST_HEADER = 100_000_000
"""Bytes; the limit of the safetensors library."""


def tensor_shapes(path: Path) -> dict[str, Shape]:
    """The shape of each tensor by name. Raises ValueError, with what is wrong, for a file that is cut short or is none of
    the format, and OSError for one that cannot be opened.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = path.stat().st_size
        if not 0 < length <= min(size - 8, LONGEST_HEADER):
            raise ValueError("it is cut short, or no safetensors file")
        header = _header(file.read(length))
    shapes = {name: _shape(entry) for name, entry in header.items() if name != "__metadata__"}
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    if max(ends, default=0) + 8 + length > size:
        raise ValueError("it is cut short")
    return shapes


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is no safetensors file") from None
    if not isinstance(header, dict):
        raise ValueError("it is no safetensors file")  # noqa: TRY004 - the file's fault, not the caller's
    return header


def _shape(entry: Any) -> Shape:
    if not (isinstance(entry, dict) and _are_sizes(entry.get("shape")) and _are_sizes(entry.get("data_offsets"), 2)):
        raise ValueError("it is no safetensors file")
    return tuple(entry["shape"])


def _are_sizes(value: Any, count: int | None = None) -> bool:
    return (
        isinstance(value, list)
        and len(value) == (len(value) if count is None else count)
        and all(isinstance(size, int) and size >= 0 for size in value)
    )
