"""The JSON that programs read; its shape is versioned."""

from __future__ import annotations

from typing import Any

from lora_spec.diagnostics import Diagnostic, Range, Severity
from lora_spec.reports.file_report import Report

SCHEMA_VERSION = 1


def report_as_json(report: Report) -> dict[str, Any]:
    """``check``'s result in builtin types. Lines and columns count from 1; ``range`` is null where there is no text."""
    return {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {"path": file.path, "dialect": file.dialect or None, "diagnostics": diagnostics_as_json(file.diagnostics)}
            for file in report.files
        ],
        "summary": {
            "files": len(report.files),
            "skipped": report.skipped,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "infos": report.count(Severity.INFO),
            "unchecked": report.unchecked,
        },
    }


def diagnostics_as_json(diagnostics: tuple[Diagnostic, ...]) -> list[dict[str, Any]]:
    """Diagnostics in builtin types, in the order of ``check``'s JSON."""
    return [
        {
            "code": d.code,
            "name": d.name,
            "severity": d.severity.value,
            "message": d.message,
            "help": d.help,
            "document_path": list(d.document_path),
            "range": _range(d.range),
            "fixes": [
                {
                    "description": fix.description,
                    "safe": fix.safe,
                    "edits": [{"range": _range(edit.range), "text": edit.text} for edit in fix.edits],
                }
                for fix in d.fixes
            ],
        }
        for d in diagnostics
    ]


def _range(place: Range | None) -> dict[str, Any] | None:
    return None if place is None else {"start": place.start._asdict(), "end": place.end._asdict()}
