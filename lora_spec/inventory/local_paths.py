"""Paths that a config names, on this machine: asking about one never raises.

pathlib's methods do, for a name that is too long, a folder that may not be entered, or the home of a user that is not
there; `os.path` answers no.
"""

from __future__ import annotations

import os
from pathlib import Path


def local_path(text: str | Path) -> Path:
    """The path that ``text`` stands for, `~` expanded where that is known."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - see above


def is_there(path: Path) -> bool:
    """Whether this machine has it, as far as we may see."""
    return os.path.exists(path)  # noqa: PTH110


def is_folder(path: Path) -> bool:
    """Whether it is a folder that we may see."""
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: Path) -> bool:
    """Whether it is a file that we may see."""
    return os.path.isfile(path)  # noqa: PTH113
