"""Swap two folders in one atomic operation of the file system."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import tempfile
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # renameat2(2), linux/fs.h
RENAME_SWAP = 2  # renamex_np(2), sys/stdio.h on macOS
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}
"""What the kernel or the file system answers where it cannot exchange."""


def exchange(new: Path, target: Path) -> None:
    """Put ``new`` where ``target`` is, and ``target`` where ``new`` was.

    Linux and macOS do it atomically on most file systems. Elsewhere ``target`` is renamed aside first; a failure (not
    a crash) of the second rename is undone.
    """
    if not _exchanged(new, target):
        _by_two_renames(new, target)


def _exchanged(new: Path, target: Path) -> bool:
    """Whether the system did it; raises OSError where it tried and failed."""
    result = _system_call(new, target)
    if result is None:
        return False
    if result == 0:
        return True
    if result in UNSUPPORTED:
        return False
    raise OSError(result, os.strerror(result), str(target))


def _system_call(new: Path, target: Path) -> int | None:
    """0 or the error number; None where the system has no such call."""
    library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    if library is None or not hasattr(library, name):
        return None
    here = ctypes.c_int(-2 if sys.platform == "darwin" else AT_FDCWD)
    swap = ctypes.c_uint(RENAME_SWAP if sys.platform == "darwin" else RENAME_EXCHANGE)
    failed: int = getattr(library, name)(here, os.fsencode(new), here, os.fsencode(target), swap)
    return ctypes.get_errno() if failed else 0


def _by_two_renames(new: Path, target: Path) -> None:
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.previous-", dir=target.parent))
    aside.rmdir()
    target.rename(aside)
    try:
        new.rename(target)
    except OSError:
        aside.rename(target)
        raise
    aside.rename(new)
