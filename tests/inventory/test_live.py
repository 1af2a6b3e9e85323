"""Targets against a model that the caller has."""

import pytest

from lora_spec import LoraSpec, check

torch = pytest.importorskip("torch")


@pytest.fixture
def model() -> object:
    from torch import nn

    class Decoder(nn.ModuleDict):
        def prepare_inputs_for_generation(self) -> None:
            """What makes it a model that generates, as the task CAUSAL_LM needs."""

    block = nn.ModuleDict({"q_proj": nn.Linear(8, 8), "v_proj": nn.Linear(8, 8)})
    return Decoder({"layers": nn.ModuleList([block]), "lm_head": nn.Linear(8, 8)})


def codes(model: object, targets: object) -> list[tuple[str, str]]:
    spec = LoraSpec(base_model="a", lora={"rank": 8, "alpha": 16, "target_modules": targets})
    return [(d.code, d.help) for d in check(spec, model)]


def test_entries_that_match(model: object) -> None:
    assert codes(model, ["q_proj", "layers.0.v_proj", "lm_head"]) == []


def test_an_entry_that_matches_nothing_has_the_nearest_name(model: object) -> None:
    assert codes(model, ["q_proj", "v_prj"]) == [("LS201", "did you mean v_proj?")]


def test_a_part_of_a_segment_is_no_suffix(model: object) -> None:
    assert [code for code, _ in codes(model, ["proj"])] == ["LS201"]


def test_a_regex_must_match_a_whole_name(model: object) -> None:
    assert [code for code, _ in codes(model, {"regex": r"layers\.1\..*"})] == ["LS201"]
    assert codes(model, {"regex": r"layers\.0\.[qv]_proj"}) == []


def test_without_a_model_the_names_are_not_checked() -> None:
    remedy = "pass --online to ask the hub for its config.json, or name a local folder"
    assert codes(None, ["q_proj"]) == [("LS017", remedy)]


def test_a_model_that_cannot_generate_has_no_causal_task() -> None:
    """`PeftModelForCausalLM` asks for `prepare_inputs_for_generation` (PEFT 0.21.2)."""
    model = torch.nn.ModuleDict({"q_proj": torch.nn.Linear(8, 8)})
    assert [code for code, _ in codes(model, ["q_proj"])] == ["LS207"]
