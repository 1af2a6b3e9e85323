"""The quick form of the differential test: `match` against PEFT itself, on small models. The full form is a command."""

import json
import warnings
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from differential import SHARED, excused, small_models  # noqa: E402
from drawn_specs import specs  # noqa: E402
from peft_truth import by_match, by_peft, differences  # noqa: E402
from small_models import of_config  # noqa: E402
from specs_on_models import few_specs, many_specs  # noqa: E402

from lora_spec.inventory.live import tree_of  # noqa: E402
from lora_spec.inventory.matching import Reason, match  # noqa: E402
from lora_spec.inventory.matching.tables import TABLES  # noqa: E402

MAKERS = dict(small_models())
BROAD = ("qwen2 tied", "deepseek_v2")
NARROW = tuple(name for name in MAKERS if name not in BROAD)


@cache
def model_of(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MAKERS[name]()


@cache
def tree_named(name: str) -> Any:
    return tree_of(model_of(name))


def disagreement(name: str, spec: dict[str, Any]) -> list[str]:
    said = match(tree_named(name), spec)
    return [] if excused(said) else differences(by_match(said), by_peft(model_of(name), spec))


@pytest.mark.parametrize("name", BROAD)
def test_every_feature_on_a_small_model(name: str) -> None:
    assert [(spec, found) for spec in many_specs(tree_named(name)) if (found := disagreement(name, spec))] == []


@pytest.mark.parametrize("name", NARROW)
def test_the_smaller_set_on_every_kind_of_model(name: str) -> None:
    assert [(spec, found) for spec in few_specs(tree_named(name)) if (found := disagreement(name, spec))] == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(data=st.data(), name=st.sampled_from(("qwen2 tied", "mixtral", "no transformer", "sequence classifier")))
def test_drawn_specs(data: st.DataObject, name: str) -> None:
    spec = data.draw(specs(tree_named(name)))
    assert disagreement(name, spec) == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared configs are not here")
@pytest.mark.parametrize("folder", ["Qwen2.5-0.5B-Instruct", "Qwen2.5-VL-7B-Instruct"])
def test_whole_models(folder: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = of_config(SHARED / folder)
    tree = tree_of(model)
    for spec in list(few_specs(tree))[:4]:
        assert differences(by_match(match(tree, spec)), by_peft(model, spec)) == []


def test_a_token_beyond_the_vocabulary_is_refused_where_there_are_weights() -> None:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=10, num_hidden_layers=1, **sizes))
    for indices, exception in (([9], None), ([10], "IndexError"), ([-10], None), ([-11], "IndexError")):
        spec = {"target_modules": ["q_proj"], "trainable_token_indices": indices}
        said = match(tree_of(model), spec)
        assert by_peft(model, spec, meta=False).refusal == exception
        assert (said.refusal and said.refusal.exception) == exception
        assert not said.refusal or said.refusal.reason is Reason.INDEX_OUT_OF_RANGE


def test_the_tables_are_those_of_the_installed_peft() -> None:
    import make_peft_tables

    assert json.loads(TABLES.read_text(encoding="utf-8")) == json.loads(make_peft_tables.text())
