"""Diagnostics of this room, made from its rules."""

from __future__ import annotations

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, SpecError


def diagnostic(rule: Rule, message: str, help: str = "", *, at: DocumentPath = ()) -> Diagnostic:  # noqa: A002 - the field's name
    """``rule`` found at ``at``, in these words."""
    return Diagnostic(rule.code, rule.name, rule.severity, message, help, at)


def fault(rule: Rule, message: str, help: str = "", *, at: DocumentPath = ()) -> SpecError:  # noqa: A002 - the field's name
    """The error to raise for a single fault."""
    return SpecError([diagnostic(rule, message, help, at=at)])
