"""`lora-spec schema`."""

from __future__ import annotations

import argparse
import json
import sys


def run(arguments: argparse.Namespace) -> int:
    """Write the JSON Schema of the native document; other formats have none in this version."""
    if arguments.dialect != "lora-spec":
        sys.stderr.write(f"lora-spec: no schema for {arguments.dialect}: this version has one for lora-spec\n")
        return 2
    from lora_spec.spec.schema import json_schema

    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
