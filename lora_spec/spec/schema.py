"""The native document as JSON Schema draft-07, made for the editors that read it.

``python -m lora_spec.spec.schema`` prints it; with ``--write`` it replaces the file in ``schemas/``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lora_spec.spec.root import LoraSpec
from lora_spec.spec.schema_conditions import conditions
from lora_spec.spec.schema_forms import Schema
from lora_spec.spec.schema_shape import shaped_schema

NOT_IN_SCHEMA: dict[str, str] = {
    "bad-regex": "whether Python compiles a pattern is no question of JSON Schema's",
    "tokens-or-whole-embedding": "JSON Schema cannot look up a map's keys in a list",
    "blocks-do-not-overlap": "JSON Schema cannot compare two lists",
    "whole-float": "JSON Schema counts 8.0 as an integer",
    "not-finite": "JSON has no infinity, so nothing can refuse YAML's .inf and .nan or a number beyond a float's range",
    "line-end": "in Python's regular expressions `$` also stands before a last line break",
}
"""What `LoraSpec` refuses and the schema lets pass, with the reason; all else they judge alike."""


def json_schema() -> Schema:
    """The schema of the native document."""
    schema = shaped_schema(LoraSpec)
    schema["properties"]["lora"]["allOf"] = conditions()
    schema["properties"]["$schema"] = {"description": "Where this schema is; for editors.", "doNotSuggest": True}
    schema["patternProperties"] = {"^x-": {}}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> None:
    """Print the schema, or with ``--write`` put it into ``schemas/`` of this checkout."""
    if arguments == ["--write"]:
        path = Path(__file__).parents[2] / "schemas" / "lora-spec.schema.json"
        path.write_text(schema_text(), encoding="utf-8")
    else:
        sys.stdout.write(schema_text())


if __name__ == "__main__":
    main(sys.argv[1:])
