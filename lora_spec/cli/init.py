"""`lora-spec init`."""

from __future__ import annotations

import argparse
import sys

from lora_spec.inventory.sources import find_tree
from lora_spec.planning.starting_point import starting_targets
from lora_spec.reports.starting_file import starting_file


def run(arguments: argparse.Namespace) -> int:
    """Write a starting file for a model to standard output."""
    found = find_tree(arguments.model, online=arguments.online)
    if found.tree is None:
        sys.stderr.write(f"lora-spec: {arguments.model}: {found.problem}; {found.remedy}\n")
        return 2
    targets = starting_targets(found.tree)
    if not targets.names:
        sys.stderr.write(f"lora-spec: no linear layers that PEFT can adapt in the layers of {found.tree.model_class}\n")
        return 2
    sys.stdout.write(starting_file(arguments.model, targets))
    return 0
