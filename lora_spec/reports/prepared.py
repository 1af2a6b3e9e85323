"""What `prepare` did: the JSON that programs read, and the lines that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lora_spec.diagnostics import Diagnostic
from lora_spec.reports.json_report import SCHEMA_VERSION, diagnostics_as_json

if TYPE_CHECKING:
    from lora_spec.preparation.values import Check, PreparedModel


def prepared_as_json(
    prepared: PreparedModel | None, diagnostics: tuple[Diagnostic, ...], output: str | None
) -> dict[str, Any]:
    """The JSON of `prepare`; without a model, after an error, the diagnostics alone are filled in."""
    return {
        "schema_version": SCHEMA_VERSION,
        "world_size": prepared.world_size if prepared else 1,
        "steps": [
            {"name": s.name, "seconds": round(s.seconds, 6), "peak_bytes": s.peak_bytes, "did": s.did}
            for s in (prepared.steps if prepared else ())
        ],
        "trainable_parameters": prepared.trainable_parameters if prepared else None,
        "all_parameters": prepared.all_parameters if prepared else None,
        "changes": list(prepared.changes) if prepared else [],
        "checks": [
            {"name": c.name, "passed": c.passed, "detail": c.detail} for c in (prepared.checks if prepared else ())
        ],
        "output": output,
        "diagnostics": diagnostics_as_json(diagnostics),
    }


def prepared_as_text(prepared: PreparedModel, output: str | None) -> str:
    """A line for each step and each check, PEFT's line of trainable parameters, and where the adapter went."""
    width = max(len(name) for name in (*(s.name for s in prepared.steps), *(c.name for c in prepared.checks)))
    lines = [f"made smaller: {change}" for change in prepared.changes]
    lines += [
        f"{step.name:<{width}}  {step.seconds:7.2f} s  {_size(step.peak_bytes):>9}  {step.did}".rstrip()
        for step in prepared.steps
    ]
    lines.append("")
    lines += [f"{_verdict(check):<11}  {check.name:<{width}}  {check.detail}".rstrip() for check in prepared.checks]
    lines += ["", prepared.trainable_line]
    if output is not None:
        lines.append(f"saved the adapter in {output}")
    return "\n".join(lines) + "\n"


def _verdict(check: Check) -> str:
    return {True: "passed", False: "FAILED", None: "not reached"}[check.passed]


def _size(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"
