"""Each case file, with what is said of it: place, severity, code, message, remedy and fixes."""

from pathlib import Path

import pytest

from lora_spec.diagnostics import Diagnostic
from lora_spec.pipeline import judge, look_up, parse, read


def said(diagnostic: Diagnostic) -> str:
    place = diagnostic.range
    where = f"{place.start.line}:{place.start.column}-{place.end.column}" if place else "-"
    lines = [f"{where} {diagnostic.severity} {diagnostic.code} {diagnostic.message}"]
    if diagnostic.help:
        lines.append(f"    {diagnostic.help}")
    for fix in diagnostic.fixes:
        lines += [f"    fix: {'' if fix.safe else '(unsafe) '}{edit.text}" for edit in fix.edits]
    return "\n".join(lines)


def test_case(case_file: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(case_file.parent)  # verl takes relative paths from where it is started
    parsed = parse(read(Path(case_file.name)))
    found = judge(parsed, look_up(parsed)).diagnostics
    text = "".join(f"{said(diagnostic)}\n" for diagnostic in found)
    expected = case_file.with_suffix(".expected")
    if pytestconfig.getoption("--update-cases"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
