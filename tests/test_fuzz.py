"""Whatever is done to a config, it is read or refused with a diagnostic in its text, never with a traceback."""

import json
import random
from pathlib import Path

import pytest

from lora_spec.pipeline import Examined, judge, parse
from lora_spec.reports.file_report import FileReport, Report
from lora_spec.reports.json_report import report_as_json
from lora_spec.reports.text import report_as_text
from lora_spec.source.document import Document
from lora_spec.source.reading import read_text

PIECES = [
    "'",
    '"',
    "\t",
    "\r\n",
    "\xa0",
    "\ufeff",
    "${X}",
    "{{x}}",
    "null",
    "~",
    "true",
    "-1",
    "1e400",
    ".nan",
    "[]",
    "{}",
    "[[",
    "}}",
    ":",
    "-",
    "&a",
    "*a",
    "<<:",
    "!!int",
    "!x",
    "|",
    ">",
    "#",
    "---",
    "...",
    "\\",
    "é",
    "中\n😀",
    "lora",
    "rank",
    "r",
    "alpha",
    "target_modules",
    "regex:",
    "kind:",
    "x-a:",
    "$schema:",
    "base_model:",
    "model:",
    "lora_rank:",
    "prepare:",
    "fsdp:",
    "strategy\nquantization:",
    "bits",
    "0",
    "999999999999999999999",
    "0x1F",
    "\x00",
    "\x0b",
    "\u2028",
    "\x85",
    "all-linear",
    "q_proj",
    "[q_proj,",
    "rank_pattern:",
    "{a:",
    "[",
    "adapter_path:\ninit:",
    "{kind:",
    "[[0,",
    "((((",
    "*q",
]
ROUNDS = 12


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 2, 4])):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.randrange(12))
        match chance.randrange(4):
            case 0:
                text = text[:start] + chance.choice(PIECES) + " " + text[start:]
            case 1:
                text = text[:start] + text[end:]
            case 2:
                text = text[:start] + chance.choice(PIECES) + text[end:]
            case _:
                text = text[:end] + text[start:]
    return text


def examined(document: Document) -> Examined:
    return judge(parse(document))


def reported(document: Document, found: Examined) -> None:
    report = Report((FileReport("a", found.parsed.dialect, found.diagnostics, text=document.text),), 0)
    report_as_text(report).encode()
    json.dumps(report_as_json(report), ensure_ascii=False).encode()


def test_mutations(case_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case_file.parent)
    chance = random.Random(case_file.name)
    original = case_file.read_text(encoding="utf-8", errors="replace")
    for _ in range(ROUNDS):
        text = mutated(original, chance)
        document = read_text(text.encode("utf-8", "surrogatepass"), name=case_file.name)
        found = examined(document)
        reported(document, found)
        assert found.spec or found.parsed.open or any(d.is_error for d in found.diagnostics), text
        errors = [(d.code, d.message, d.range) for d in found.diagnostics if d.is_error]
        assert len(errors) == len(set(errors)), text
        lines = document.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for _, _, place in errors:
            if place is not None:
                assert place.start <= place.end, text
                assert place.start.column <= len(lines[place.start.line - 1]) + 1, text
