"""`lora-spec prepare`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lora_spec.cli.faults import print_diagnostics, read_and_judge
from lora_spec.diagnostics import Diagnostic, Severity, SpecError
from lora_spec.pipeline import Examined
from lora_spec.reports.prepared import prepared_as_json, prepared_as_text
from lora_spec.rules.inspections import NOT_CHECKED
from lora_spec.source.document import Document
from lora_spec.spec.places import Places

if TYPE_CHECKING:
    from lora_spec.preparation.values import PreparedModel
    from lora_spec.spec.root import LoraSpec

NEEDED = ("torch", "transformers", "peft", "safetensors")


def run(arguments: argparse.Namespace) -> int:
    """Check the file, run the recipe, save the adapter where every check passed, and report."""
    judged = read_and_judge(arguments, with_model=False)
    if judged is None:
        return 2
    document, examined = judged
    if examined.spec is None:
        return _stopped(document, examined.diagnostics, arguments)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        _say(f"prepare needs {', '.join(missing)}: pip install 'lora-spec[train]'")
        return 2
    return _prepare(document, examined, examined.spec, arguments)


def _prepare(document: Document, examined: Examined, spec: LoraSpec, arguments: argparse.Namespace) -> int:
    from lora_spec.preparation.recipe import load
    from lora_spec.preparation.report import StepCrashedError
    from lora_spec.preparation.save import refuse_existing, save_adapter
    from lora_spec.preparation.tiny import CannotShrink

    output = arguments.output if spec.lora_on else None
    try:
        if output is not None:
            refuse_existing(Path(output), overwrite=arguments.overwrite)  # before the model is loaded
        prepared = load(spec, online=arguments.online, tiny=arguments.tiny, on_step=_progress())
        if output is not None and prepared.passed:
            save_adapter(prepared, output, overwrite=arguments.overwrite)
    except SpecError as error:
        placed = tuple(_in_the_file(d, examined.parsed.places) for d in error.diagnostics)
        return _stopped(document, (*_judged(examined), *placed), arguments)
    except (CannotShrink, StepCrashedError, OSError) as error:
        _say(str(error))
        return 2
    _clear_progress()
    if arguments.output is not None and output is None:
        _say("LoRA is off: there is no adapter to save")
    _report(document, examined, prepared, output if prepared.passed else None, arguments)
    return 0 if prepared.passed else 1


def _judged(examined: Examined) -> tuple[Diagnostic, ...]:
    """What was said of the file, less what was not checked then: the model is here now."""
    return tuple(d for d in examined.diagnostics if d.code != NOT_CHECKED.code)


def _report(
    document: Document,
    examined: Examined,
    prepared: PreparedModel,
    output: str | None,
    arguments: argparse.Namespace,
) -> None:
    found = tuple(_in_the_file(d, examined.parsed.places) for d in prepared.diagnostics)
    diagnostics = (*_judged(examined), *found)
    if arguments.json:
        sys.stdout.write(json.dumps(prepared_as_json(prepared, diagnostics, output), indent=2) + "\n")
        return
    print_diagnostics(document, diagnostics)
    for warning in (d for d in found if d.severity is Severity.INFO):  # what PEFT warned of, seen nowhere else
        _say(f"{warning.message} [{warning.code}]")
    sys.stdout.write(prepared_as_text(prepared, output))


def _stopped(document: Document, diagnostics: tuple[Diagnostic, ...], arguments: argparse.Namespace) -> int:
    """Nothing but diagnostics: in the JSON, or on standard error."""
    _clear_progress()
    if arguments.json:
        sys.stdout.write(json.dumps(prepared_as_json(None, diagnostics, None), indent=2) + "\n")
    else:
        print_diagnostics(document, diagnostics)
    return 1


def _in_the_file(diagnostic: Diagnostic, places: Places) -> Diagnostic:
    """A diagnostic of the recipe, which speaks of native paths, at its place in the user's file."""
    path = diagnostic.document_path
    if not path or diagnostic.range is not None:
        return diagnostic
    return replace(diagnostic, document_path=places.path(path), range=places.value(path))


def _progress() -> Callable[[str], None] | None:
    """Who shows the running step on a terminal; nobody elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(step: str) -> None:
        sys.stderr.write(f"\r\x1b[K{step} …")
        sys.stderr.flush()

    return show


def _clear_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def _say(text: str) -> None:
    sys.stderr.write(f"lora-spec: {text}\n")
