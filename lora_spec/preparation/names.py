"""Names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def few(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
