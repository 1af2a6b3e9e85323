"""What was found in one file, as every format takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from lora_spec.diagnostics import Diagnostic, Severity


class FileReport(NamedTuple):
    """A file, the dialect it was read in, and what is said of it. ``text`` is the file's, for showing lines."""

    path: str
    dialect: str
    diagnostics: tuple[Diagnostic, ...]
    unchecked: int = 0
    text: str = ""


class Report(NamedTuple):
    """All files of a run; ``skipped`` counts files of a folder that are no config that is known."""

    files: tuple[FileReport, ...]
    skipped: int = 0

    def count(self, severity: Severity) -> int:
        """How many diagnostics have that severity."""
        return _severities(self.files)[severity]

    @property
    def unchecked(self) -> int:
        """How many checks had no ground."""
        return sum(file.unchecked for file in self.files)


def _severities(files: Sequence[FileReport]) -> Counter[Severity]:
    return Counter(diagnostic.severity for file in files for diagnostic in file.diagnostics)
