"""Reading one file for a command that goes on only without faults, and saying the faults on standard error."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from lora_spec.cli.inputs import read_input, trouble
from lora_spec.cli.terminal import wants_colour
from lora_spec.diagnostics import Diagnostic, Severity
from lora_spec.dialects.parsing import dialect_named
from lora_spec.pipeline import Examined, judge, look_up, parse
from lora_spec.reports.file_report import FileReport
from lora_spec.reports.text import file_as_text
from lora_spec.rules.inspection import Unchecked
from lora_spec.source.document import Document
from lora_spec.spec.faults import VALUE_LEFT_OPEN
from lora_spec.spec.places import at_value


def read_and_judge(arguments: argparse.Namespace, *, with_model: bool) -> tuple[Document, Examined] | None:
    """The file of ``arguments`` and what is said of it; None, with the reason on standard error, where it cannot be
    opened or read in the named dialect. ``with_model`` also holds it against the structure of its base model.
    """
    try:
        if arguments.dialect is not None:
            dialect_named(arguments.dialect)
        document = replace(read_input(arguments.path), dialect=arguments.dialect)
    except ValueError as error:
        sys.stderr.write(f"lora-spec: {error}\n")
        return None
    except OSError as error:
        sys.stderr.write(trouble(arguments.path, error))
        return None
    parsed = parse(document)
    online = getattr(arguments, "online", False)
    return document, _closed(judge(parsed, look_up(parsed, online=online) if with_model else None))


def _closed(examined: Examined) -> Examined:
    """A value that is left open stops a command that needs it: an open value is then an error."""
    opened = [u for u in examined.unchecked if examined.parsed.is_open(u.path)]
    if not opened or examined.parsed.spec is not None:
        return examined
    return examined._replace(diagnostics=(*examined.diagnostics, *(_left_open(u, examined) for u in opened)))


def _left_open(unchecked: Unchecked, examined: Examined) -> Diagnostic:
    places = examined.parsed.places
    message = f"{places.name(unchecked.path)} is left open and is needed here"
    remedy = "fill it in first: the tool that resolves it, or its value in a copy of the file"
    return at_value(places, unchecked.path, VALUE_LEFT_OPEN, message, remedy)


def print_diagnostics(document: Document, diagnostics: tuple[Diagnostic, ...]) -> None:
    """Write what stands in the way, and warnings, to standard error."""
    worth = tuple(d for d in diagnostics if d.severity is not Severity.INFO)
    if worth:
        report = FileReport(document.path or "<stdin>", "", worth, text=document.text)
        sys.stderr.write(file_as_text(report, colour=wants_colour(sys.stderr)))
