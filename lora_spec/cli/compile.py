"""`lora-spec compile`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lora_spec.cli.faults import print_diagnostics, read_and_judge
from lora_spec.cli.files import write_whole
from lora_spec.diagnostics import SpecError
from lora_spec.pipeline import compile_judged


def run(arguments: argparse.Namespace) -> int:
    """Write PEFT's arguments, or nothing but diagnostics."""
    output = Path(arguments.output) if arguments.output else None
    if output is not None and output.exists() and not arguments.overwrite:
        sys.stderr.write(f"lora-spec: {output} exists; --overwrite replaces it\n")
        return 2
    judged = read_and_judge(arguments, with_model=True)
    if judged is None:
        return 2
    document, examined = judged
    print_diagnostics(document, examined.diagnostics)
    if examined.spec is None:
        return 1
    try:
        compiled = compile_judged(examined, examined.spec)
    except SpecError as error:
        print_diagnostics(document, error.diagnostics)
        return 1
    return _write(compiled.text + "\n", output)


def _write(text: str, output: Path | None) -> int:
    """To standard output, or to a file that appears whole or not at all."""
    if output is not None:
        return write_whole(output, text)
    sys.stdout.write(text)
    return 0
