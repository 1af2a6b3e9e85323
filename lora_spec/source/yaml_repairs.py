"""Reads on after a value that only lacks its quotes, so that all of them are told at once."""

from __future__ import annotations

from typing import NamedTuple

from lora_spec.diagnostics import Diagnostic
from lora_spec.source.document import Scalar, Style
from lora_spec.source.places import Places

_MOST = 32
LARGEST_REREAD = 64 * 1024
"""The largest text that is parsed more than once."""


class Repair(NamedTuple):
    """A stretch of the text that is read as if it stood in single quotes."""

    start: int
    end: int
    quoted: str


def add_repair(repairs: dict[int, Repair], found: Diagnostic, places: Places) -> bool:
    """Add the repair of a syntax error whose fix is to quote something; False where there is none.

    Each costs another parse, so a large text or one with many faults is left at that.
    """
    edits = [edit for fix in found.fixes for edit in fix.edits if edit.text.startswith("'")]
    if not edits or len(repairs) == _MOST or len(places.text) > LARGEST_REREAD:
        return False
    start, end = places.offset(edits[0].range.start), places.offset(edits[0].range.end)
    if start in repairs:
        return False
    repairs[start] = Repair(start, end, edits[0].text)
    return True


def masked(text: str, repairs: dict[int, Repair]) -> str:
    """The text with what is repaired replaced by a plain word of the same length."""
    for repair in repairs.values():
        text = text[: repair.start] + "x" * (repair.end - repair.start) + text[repair.end :]
    return text


def repaired(scalar: Scalar, repair: Repair) -> Scalar:
    """The scalar that was read in the place of a repair, with what the text says."""
    written = repair.quoted[1:-1].replace("''", "'") + scalar.raw[repair.end - repair.start :]
    return scalar._replace(text=written, style=Style.QUOTED)
