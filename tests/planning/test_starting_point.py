"""`init` on every model of the catalogue: the file is clean, and reaches no router, tower or head."""

import pytest

from lora_spec.inventory.catalogue import model_ids
from lora_spec.inventory.layout import LANGUAGE, layer_of, tower_of
from lora_spec.inventory.matching import match
from lora_spec.inventory.sources import find_tree
from lora_spec.pipeline import judge, look_up, parse, read
from lora_spec.planning.starting_point import ROUTERS, starting_targets
from lora_spec.reports.starting_file import starting_file
from lora_spec.spec.peft_arguments import peft_arguments


@pytest.mark.parametrize("model_id", model_ids())
def test_the_file_is_clean(model_id: str) -> None:
    tree = find_tree(model_id).tree
    assert tree is not None
    parsed = parse(read(starting_file(model_id, starting_targets(tree))))
    found = judge(parsed, look_up(parsed)).diagnostics
    about_the_base = {"LS223"}  # an fp8 checkpoint stays one, whatever the targets
    assert [d for d in found if d.severity != "info" and d.code not in about_the_base] == []
    assert parsed.spec is not None
    adapted = match(tree, peft_arguments(parsed.spec)).modules
    assert len(adapted) > 3
    assert {tower_of(a.name) for a in adapted} == {LANGUAGE}
    assert all(layer_of(a.name) is not None and a.name.rpartition(".")[2] not in ROUTERS for a in adapted)


def test_a_language_model() -> None:
    tree = find_tree("Qwen/Qwen2.5-0.5B").tree
    assert tree is not None
    targets = starting_targets(tree)
    assert targets.names == ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    assert (targets.regex, targets.experts) == (None, ())
