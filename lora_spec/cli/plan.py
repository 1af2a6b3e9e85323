"""`lora-spec plan`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from lora_spec.cli.faults import print_diagnostics, read_and_judge
from lora_spec.cli.files import write_whole
from lora_spec.pipeline import plan_judged
from lora_spec.planning.values import Plan
from lora_spec.reports.plan_fit import fit_as_json, fit_as_text
from lora_spec.reports.plan_json import plan_as_json
from lora_spec.reports.plan_text import plan_as_text

_PREFIXES = ("", "K", "M", "G", "T")


def run(arguments: argparse.Namespace) -> int:
    """Print what would be trained; after an error what is known, and exit status 1."""
    capacity = _bytes(arguments.fit) if arguments.fit else None
    if arguments.fit and capacity is None:
        sys.stderr.write(f"lora-spec: --fit {arguments.fit} is no size; write it like 80GB or 80GiB\n")
        return 2
    if arguments.html and Path(arguments.html).exists() and not arguments.overwrite:
        sys.stderr.write(f"lora-spec: {arguments.html} exists; --overwrite replaces it\n")
        return 2
    judged = read_and_judge(arguments, with_model=True)
    if judged is None:
        return 2
    document, examined = judged
    flags = {name: getattr(arguments, name) for name in ("world_size", "batch_size", "sequence_length", "optimizer")}
    plan = plan_judged(examined, fits=capacity is not None, **flags)
    if plan is None:
        print_diagnostics(document, examined.diagnostics)
        return 1
    if not arguments.json:
        print_diagnostics(document, examined.diagnostics)
    return _write(plan, capacity, arguments) or int(any(d.is_error for d in examined.diagnostics))


def _write(plan: Plan, capacity: int | None, arguments: argparse.Namespace) -> int:
    if arguments.html:
        from lora_spec.reports.plan_html import plan_as_html

        if code := write_whole(Path(arguments.html), plan_as_html(plan)):
            return code
    if arguments.json:
        fit = {"fit": fit_as_json(plan, capacity)} if capacity is not None else {}
        sys.stdout.write(json.dumps(plan_as_json(plan) | fit, indent=2, ensure_ascii=False) + "\n")
    elif not arguments.html:
        sys.stdout.write(plan_as_text(plan) + "\n" * (capacity is not None))
    if capacity is not None and not arguments.json:
        sys.stdout.write(fit_as_text(plan, capacity))
    return 0


def _bytes(text: str) -> int | None:
    """A size such as ``80GB`` (powers of 1000) or ``80GiB`` (of 1024)."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT])(i?)B?\s*", text, re.IGNORECASE)
    if found is None:
        return None
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _PREFIXES.index(found[2].upper()))
