"""`lora-spec explain` and `lora-spec rules`."""

from __future__ import annotations

import argparse
import sys

from lora_spec.diagnostics import Rule, closest
from lora_spec.rules.catalogue import ALL_RULES, rule_named


def run(arguments: argparse.Namespace) -> int:
    """Write one rule in full, or all of them a line each."""
    if arguments.code is None:
        sys.stdout.writelines(f"{rule.code}  {rule.severity.value:<7}  {rule.name}\n" for rule in ALL_RULES)
        return 0
    rule = rule_named(arguments.code)
    if rule is None:
        near = closest(arguments.code, [name for rule in ALL_RULES for name in (rule.code, rule.name)])
        hint = f"did you mean {near}?" if near else "lora-spec rules lists them"
        sys.stderr.write(f"lora-spec: no rule {arguments.code}; {hint}\n")
        return 2
    sys.stdout.write(_explained(rule))
    return 0


def _explained(rule: Rule) -> str:
    import textwrap

    why = textwrap.fill(rule.why, 80)
    bad, good = (textwrap.indent(example.strip("\n"), "    ") for example in (rule.bad, rule.good))
    return f"{rule.code} {rule.name} ({rule.severity.value})\n\n{why}\n\nbad:\n{bad}\n\ngood:\n{good}\n"
