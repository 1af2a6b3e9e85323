"""Schema and `LoraSpec` agree on each pair of settings that could meet in a combination; where they do not is listed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from jsonschema import Draft7Validator

from lora_spec.diagnostics import SpecError
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.schema import NOT_IN_SCHEMA, json_schema

Document = dict[str, Any]

VALIDATOR = Draft7Validator(json_schema())


def schema_accepts(lora: Document) -> bool:
    return VALIDATOR.is_valid({"base_model": "m", "lora": lora})


def spec_accepts(lora: Document) -> bool:
    try:
        LoraSpec(base_model="m", lora=lora)
    except SpecError:
        return False
    return True


NEW = {"rank": 8, "alpha": 16}

CORNERS: Document = {
    "rank": [0, 7, None],
    "alpha": [None],
    "target_modules": ["ALL-linear", [], ["a"], {"regex": "a"}],
    "dropout": [0, 0.5],
    "bias": ["none", "all"],
    "init": [True, False, "default", "mica", "pissa", "orthogonal", {"kind": "default"}, {"kind": "mica"}],
    "layers_to_transform": [0, []],
    "layers_pattern": ["h", [], ["h"]],
    "rank_pattern": [{}, {"a": 3}],
    "target_parameters": [[], ["a"]],
    "use_dora": [False, True],
    "lora_bias": [True],
    "fan_in_fan_out": [True],
    "megatron_config": [{}, {"a": 1}],
    "megatron_core": ["megatron.core", "other"],
    "alora_invocation_tokens": [[], [1]],
    "qalora_group_size": [16, 8],
    "velora_config": [{}],
    "monteclora_config": [{}],
    "use_bdlora": [{}],
    "arrow_config": [{}],
    "kasa_config": [{}],
    "runtime_config": [{}, {"ephemeral_gpu_offload": False}, {"ephemeral_gpu_offload": True}],
}


@pytest.mark.parametrize("first", CORNERS)
@pytest.mark.parametrize("base", [NEW, {"adapter_path": "a"}, {**NEW, "init": {"kind": "orthogonal"}}])
def test_they_judge_each_pair_of_settings_alike(first: str, base: Document) -> None:
    for second in CORNERS:
        for one, other in itertools.product(CORNERS[first], CORNERS[second]):
            lora = {**base, second: other, first: one}
            assert schema_accepts(lora) == spec_accepts(lora), lora


LET_PASS: dict[str, Document] = {
    "bad-regex": {**NEW, "target_modules": {"regex": "*.q_proj"}},
    "tokens-or-whole-embedding": {**NEW, "modules_to_save": ["wte"], "trainable_token_indices": {"wte": [1]}},
    "blocks-do-not-overlap": {
        **NEW,
        "use_bdlora": {"target_modules_bd_a": ["q_proj"], "target_modules_bd_b": ["q_proj"]},
    },
    "whole-float": {"rank": 8.0, "alpha": 16},
    "not-finite": {"rank": 8, "alpha": float("inf")},
    "line-end": {**NEW, "target_modules": "all-linear\n"},
}


def test_what_the_schema_lets_pass_is_listed_with_an_example() -> None:
    assert list(LET_PASS) == list(NOT_IN_SCHEMA)


@pytest.mark.parametrize("name", LET_PASS)
def test_what_is_listed_is_still_let_pass(name: str) -> None:
    assert schema_accepts(LET_PASS[name])
    assert not spec_accepts(LET_PASS[name])
