"""Diagnostics for people: where, what, the line with a mark under the place, and what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, Range, Severity, dotted
from lora_spec.reports.file_report import FileReport, Report

_COLOURS = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.INFO: "36"}
_WIDEST = 110


def report_as_text(report: Report, *, colour: bool = False) -> str:
    """Every file's diagnostics and a last line that counts."""
    parts = [file_as_text(file, colour=colour) for file in report.files if file.diagnostics]
    return "\n".join([*parts, summary(report)])


def file_as_text(file: FileReport, *, colour: bool = False) -> str:
    """One file's diagnostics, an empty line after each; what is only worth knowing comes last."""
    lines = _lines(file.text)
    ordered = sorted(file.diagnostics, key=lambda d: d.severity is Severity.INFO)
    return "".join(f"{diagnostic_as_text(d, file.path, lines, colour=colour)}\n\n" for d in ordered).rstrip("\n") + "\n"


def diagnostic_as_text(diagnostic: Diagnostic, path: str, lines: list[str], *, colour: bool = False) -> str:
    """One diagnostic; ``lines`` are the file's, without line breaks."""
    place = diagnostic.range
    where = f"{path}:{place.start.line}:{place.start.column}" if place else _pathwise(path, diagnostic)
    severity = _painted(diagnostic.severity.value, _COLOURS[diagnostic.severity], colour)
    text = [f"{_painted(where, '1', colour)}: {severity}[{diagnostic.code}] {diagnostic.message}"]
    if place is not None and diagnostic.severity is not Severity.INFO:
        text += _frame(place, lines, _COLOURS[diagnostic.severity], colour)
    if diagnostic.help:
        text.append(f"  {_painted('help', '32', colour)}: {diagnostic.help}")
    return "\n".join(text)


def summary(report: Report) -> str:
    """``2 errors, 1 warning in 3 files``, and what was not checked or skipped."""
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    files = _counted(len(report.files), "file")
    found = ", ".join(_counted(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n)
    text = f"{found} in {files}" if found else f"no errors in {files}"
    if report.unchecked:
        text += f", {_counted(report.unchecked, 'check')} not made"
    if report.skipped:
        text += f", {_counted(report.skipped, 'other file')} skipped"
    return text + "\n"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _pathwise(path: str, diagnostic: Diagnostic) -> str:
    place = dotted(diagnostic.document_path)
    return f"{path}: {place}" if place else path


def _lines(text: str) -> list[str]:
    """The lines as an editor counts them: other separators of Unicode do not end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _frame(place: Range, lines: list[str], colour_code: str, colour: bool) -> Iterator[str]:  # noqa: FBT001
    if not 0 < place.start.line <= len(lines):
        return
    line, start = lines[place.start.line - 1], place.start.column - 1
    end = place.end.column - 1 if place.end.line == place.start.line else len(line)
    cut = max(0, min(start - 20, len(line) - _WIDEST)) if len(line) > _WIDEST else 0
    shown = line[cut : cut + _WIDEST].replace("\t", " ")
    mark = "^" * max(1, _width(line[start : min(end, cut + _WIDEST)]))
    number = str(place.start.line)
    yield f"{' ' * len(number)} |"
    yield f"{number} | {shown}"
    yield f"{' ' * len(number)} | {' ' * _width(line[cut:start])}{_painted(mark, colour_code, colour)}"


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _painted(text: str, code: str, colour: bool) -> str:  # noqa: FBT001
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
