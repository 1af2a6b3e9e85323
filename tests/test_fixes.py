"""Every fix of every case, applied to the text, takes its fault away and brings none that was not there."""

from collections import Counter
from pathlib import Path

import pytest

from lora_spec.diagnostics import Diagnostic, Fix
from lora_spec.pipeline import Examined, judge, parse
from lora_spec.source.document import Document
from lora_spec.source.places import Places
from lora_spec.source.reading import read_path, read_text


def examined(document: Document) -> Examined:
    return judge(parse(document))


def fixed(document: Document, fix: Fix) -> Document:
    places, text = Places(document.text), document.text
    for edit in sorted(fix.edits, key=lambda edit: edit.range.start, reverse=True):
        start, end = places.offset(edit.range.start), places.offset(edit.range.end)
        text = text[:start] + edit.text + text[end:]
    return read_text(text, name=document.path)


def errors(found: Examined) -> Counter[tuple[str, str]]:
    return Counter((d.code, d.message) for d in found.diagnostics if d.is_error)


def fixes(found: Examined) -> list[tuple[Diagnostic, Fix]]:
    return [(diagnostic, fix) for diagnostic in found.diagnostics for fix in diagnostic.fixes]


def test_each_fix_takes_its_fault_away_and_adds_none(case_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case_file.parent)
    document = read_path(case_file.name)
    before = examined(document)
    for diagnostic, fix in fixes(before):
        after = examined(fixed(document, fix))
        same = Counter((d.code, d.message) for d in after.diagnostics)[diagnostic.code, diagnostic.message]
        told = Counter((d.code, d.message) for d in before.diagnostics)[diagnostic.code, diagnostic.message]
        assert same < told, (diagnostic, fix)
        added = sum((errors(after) - errors(before)).values())
        reworded = sum((errors(before) - errors(after)).values()) - 1  # a renamed key is called otherwise from then on
        reads_on = diagnostic.code.startswith("LS00")  # what could not be read before is judged now
        assert added <= reworded or reads_on, (diagnostic, fix, errors(after) - errors(before))


def test_all_safe_fixes_one_after_the_other(case_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left after all of them is what has no safe fix, and it is no more than was said at first."""
    monkeypatch.chdir(case_file.parent)
    document = read_path(case_file.name)
    first = examined(document)
    for _ in range(50):
        safe = [fix for _, fix in fixes(examined(document)) if fix.safe]
        if not safe:
            break
        document = fixed(document, safe[0])
    assert not safe
    last = examined(document)
    assert sum(errors(last).values()) <= sum(errors(first).values()) or first.parsed.draft is None
