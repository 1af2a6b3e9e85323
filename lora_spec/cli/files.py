"""Writing a result file that appears whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def write_whole(output: Path, text: str) -> int:
    """Write ``text`` to ``output`` and return the exit status: 2, with the reason, where it cannot be written."""
    try:
        if output.exists() and not output.is_file() and not output.is_dir():
            output.write_text(text, encoding="utf-8")  # a device or a pipe: renaming onto it would do away with it
            return 0
        handle, temporary = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(output)
    except OSError as error:
        sys.stderr.write(f"lora-spec: cannot write {output}: {(error.strerror or str(error)).lower()}\n")
        return 2
    return 0
