"""`lora-spec check`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from lora_spec.cli.inputs import STANDARD_INPUT, files_in, read_input, trouble
from lora_spec.cli.terminal import wants_colour
from lora_spec.diagnostics import Diagnostic, Severity
from lora_spec.dialects.parsing import UNRECOGNISED, dialect_named
from lora_spec.pipeline import judge, look_up, parse
from lora_spec.reports.file_report import FileReport, Report
from lora_spec.source.document import Document
from lora_spec.source.faults import NOT_A_MAPPING

Wanted = Callable[[Diagnostic], bool]


def run(arguments: argparse.Namespace) -> int:
    """Check every path, write one report, and return the exit status."""
    try:
        wanted = _selection(arguments.select, arguments.ignore)
        if arguments.dialect is not None:
            dialect_named(arguments.dialect)
    except ValueError as error:
        sys.stderr.write(f"lora-spec: {error}\n")
        return 2
    files, skipped, unopened = _check_all(arguments, wanted)
    report = Report(tuple(files), skipped)
    if arguments.format == "json":
        from lora_spec.reports.json_report import report_as_json

        sys.stdout.write(json.dumps(report_as_json(report), indent=2, ensure_ascii=False) + "\n")
    else:
        from lora_spec.reports.text import report_as_text

        sys.stdout.write(report_as_text(report, colour=wants_colour(sys.stdout)))
    return 2 if unopened else int(_failed(report, arguments.fail_on))


def _check_all(arguments: argparse.Namespace, wanted: Wanted) -> tuple[list[FileReport], int, bool]:
    files, skipped, unopened = [], 0, False
    for name, in_folder in _named(arguments.paths or ["."]):
        try:
            document = replace(read_input(name, arguments.stdin_filename), dialect=arguments.dialect)
        except OSError as error:
            sys.stderr.write(trouble(name, error))
            unopened = True
            continue
        found = _check(document, wanted, arguments)
        if in_folder and _is_another_kind(document, found):
            skipped += 1
        else:
            files.append(found)
    return files, skipped, unopened


def _named(paths: list[str]) -> Iterator[tuple[str, bool]]:
    """Each file, and whether it was met in a folder."""
    for path in paths:
        if path != STANDARD_INPUT and Path(path).is_dir():
            yield from ((str(file), True) for file in files_in(Path(path)))
        else:
            yield path, False


def _check(document: Document, wanted: Wanted, arguments: argparse.Namespace) -> FileReport:
    parsed = parse(document)
    found = None if arguments.no_model else look_up(parsed, arguments.base_model, online=arguments.online)
    examined = judge(parsed, found)
    return FileReport(
        path=document.path or "<stdin>",
        dialect=examined.parsed.dialect,
        diagnostics=tuple(filter(wanted, examined.diagnostics)),
        unchecked=len(examined.unchecked),
        text=document.text,
    )


def _is_another_kind(document: Document, found: FileReport) -> bool:
    """Whether a file of a folder is none of our business: no dialect takes it, it is no mapping, or it does not parse
    and does not speak of LoRA either.
    """
    if any(d.code == NOT_A_MAPPING.code for d in found.diagnostics):
        return True
    if document.root is None:
        return "lora" not in document.text.lower()
    return any(d.code == UNRECOGNISED.code for d in found.diagnostics) or not found.dialect


def _selection(select: str | None, ignore: str | None) -> Wanted:
    """Which diagnostics are wanted; ValueError for a code that no rule has."""
    chosen, dropped = _codes(select), _codes(ignore)

    def wanted(diagnostic: Diagnostic) -> bool:
        is_chosen = not chosen or diagnostic.code.startswith(chosen)
        return is_chosen and not (dropped and diagnostic.code.startswith(dropped))

    return wanted


def _codes(text: str | None) -> tuple[str, ...]:
    codes = tuple(code.strip().upper() for code in (text or "").split(",") if code.strip())
    if not codes:
        return ()
    from lora_spec.rules.catalogue import ALL_RULES  # start-up time: most runs select nothing

    for code in codes:
        if not any(rule.code.startswith(code) for rule in ALL_RULES):
            raise ValueError(f"no rule has the code {code}; lora-spec rules lists them")
    return codes


def _failed(report: Report, fail_on: str) -> bool:
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    if fail_on == "error":
        return errors > 0
    return errors + warnings > 0 or (fail_on == "unchecked" and report.unchecked > 0)
