"""The file in schemas/ is what the models say, in the words that editors know."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from lora_spec.spec.documentation import field_documentation, models_of
from lora_spec.spec.inits import KINDS
from lora_spec.spec.lora import Lora
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.schema import json_schema, schema_text

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
LORA = SCHEMA["properties"]["lora"]["properties"]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from nodes(item)


def test_the_file_is_not_stale() -> None:
    written = (ROOT / "schemas" / "lora-spec.schema.json").read_text(encoding="utf-8")
    assert written == schema_text(), "run: python -m lora_spec.spec.schema --write"


def test_the_module_prints_it() -> None:
    run = subprocess.run([sys.executable, "-m", "lora_spec.spec.schema"], cwd=ROOT, capture_output=True, check=True)
    assert run.stdout.decode() == schema_text()


def test_it_is_a_draft_07_schema_in_draft_07_words() -> None:
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(SCHEMA)
    unknown = {"$ref", "$defs", "prefixItems", "dependentSchemas", "dependentRequired", "unevaluatedProperties"}
    assert not any(unknown & node.keys() for node in nodes(SCHEMA))


def test_a_default_is_told_and_never_inserted() -> None:
    assert not any("default" in node and "title" in node for node in nodes(SCHEMA))
    assert "Default: `0.0` · at least 0 · below 1" in LORA["dropout"]["markdownDescription"]


@pytest.mark.parametrize("model", models_of(LoraSpec))
def test_every_field_is_documented(model: type) -> None:
    assert list(field_documentation(model)) == list(model.model_fields)


def test_every_setting_has_a_title_and_its_documentation_in_both_forms() -> None:
    for name, node in LORA.items():
        assert node["title"].startswith(f"lora.{name}")
        assert field_documentation(Lora)[name] in node["markdownDescription"]
        assert "`" not in node["description"]


def test_every_object_is_closed_but_the_notes_at_the_root_are_allowed() -> None:
    for node in nodes(SCHEMA):
        if "properties" in node and "title" in node and "(settings)" not in node["title"]:
            assert node["additionalProperties"] is False
    assert SCHEMA["patternProperties"] == {"^x-": {}}


def test_an_init_takes_the_settings_of_its_kind_alone() -> None:
    cases = LORA["init"]["anyOf"][1]["allOf"]
    assert [case["if"]["properties"]["kind"]["const"] for case in cases] == list(KINDS)
    assert all(case["then"]["additionalProperties"] is False for case in cases)
    assert set(cases[KINDS.index("pissa")]["then"]["properties"]) == {"kind", "niter"}


def test_the_documentation_of_a_field_is_the_text_under_it() -> None:
    assert field_documentation(LoraSpec)["revision"] == "Branch, tag or commit of the base model on the hub."
