"""The frame under a diagnostic."""

import pytest

from lora_spec.diagnostics import Diagnostic, Position, Range, Severity
from lora_spec.reports.file_report import FileReport, Report
from lora_spec.reports.text import file_as_text, summary


def shown(line: str, start: int, end: int, *, end_line: int = 1) -> list[str]:
    place = Range(Position(1, start), Position(end_line, end))
    found = Diagnostic("LS011", "unknown-key", Severity.ERROR, "m", "h", (), place)
    return file_as_text(FileReport("f", "", (found,), text=line)).splitlines()[1:4]


def test_the_mark_is_under_the_place() -> None:
    assert shown("lora: {rnak: 8}", 8, 12) == ["  |", "1 | lora: {rnak: 8}", "  |        ^^^^"]


def test_wide_characters_take_two_columns() -> None:
    assert shown("模型: x", 5, 6)[2] == "  |       ^"


def test_a_tab_takes_one_column() -> None:
    assert shown("a:\tb", 4, 5) == ["  |", "1 | a: b", "  |    ^"]


def test_a_range_over_several_lines_marks_the_first() -> None:
    assert shown("a: [b,", 4, 2, end_line=2)[2] == "  |    ^^^"


def test_an_empty_place_has_a_mark() -> None:
    assert shown("a:", 3, 3)[2] == "  |   ^"


def test_a_long_line_is_cut_around_the_place() -> None:
    frame = shown("x" * 500 + "HERE" + "y" * 500, 501, 505)
    assert len(frame[1]) < 120
    start = frame[2].index("^")
    assert frame[1][start : start + 4] == "HERE"


def test_without_a_text_the_document_path_stands_for_the_place() -> None:
    found = Diagnostic("LS101", "out-of-range", Severity.ERROR, "m", "", ("lora", "target_modules", 1))
    assert file_as_text(FileReport("f", "", (found,))) == "f: lora.target_modules[1]: error[LS101] m\n"


@pytest.mark.parametrize(("colour", "painted"), [(True, True), (False, False)])
def test_colour(colour: bool, painted: bool) -> None:
    found = Diagnostic("LS101", "out-of-range", Severity.ERROR, "m")
    assert ("\x1b[31;1merror" in file_as_text(FileReport("f", "", (found,)), colour=colour)) is painted


def test_summary() -> None:
    warning = Diagnostic("LS152", "high-dropout", Severity.WARNING, "m")
    files = (FileReport("a", "", (warning, warning)), FileReport("b", "", (), unchecked=1))
    assert summary(Report(files, skipped=1)) == "2 warnings in 2 files, 1 check not made, 1 other file skipped\n"
