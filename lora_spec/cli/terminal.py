"""What the terminal wants."""

from __future__ import annotations

import os
from typing import TextIO


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour what goes to ``stream``: a terminal, and NO_COLOR not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
