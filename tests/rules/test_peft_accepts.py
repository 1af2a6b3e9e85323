"""What `check` finds clean on a model PEFT wraps, and its first forward and backward pass run."""

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peft import get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from lora_spec import LoraSpec, SpecError, check
from lora_spec.preparation.build import SHIPPED

CONFIG = AutoConfig.from_pretrained(SHIPPED / "tiny-qwen2")
LEAVES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

flags = st.booleans()
names = st.lists(st.sampled_from([*LEAVES, "self_attn.q_proj", "model.layers.0.mlp.up_proj"]), max_size=3, unique=True)
regexes = st.sampled_from([{"regex": r".*\.[qv]_proj"}, {"regex": r".*self_attn\..*"}])
blocks = st.fixed_dictionaries(
    {
        "target_modules_bd_a": st.just(["o_proj", "down_proj"]),
        "target_modules_bd_b": st.just(["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"]),
    },
    optional={"nblocks": st.sampled_from([1, 2, 4]), "match_strict": flags},
)

OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "target_modules": names | regexes | st.just("all-linear"),
    "exclude_modules": names | regexes,
    "dropout": st.sampled_from([0, 0.1, 0.5]),
    "bias": st.sampled_from(["none", "all", "lora_only"]),
    "use_rslora": flags,
    "modules_to_save": st.lists(st.sampled_from(["lm_head", "norm", "input_layernorm"]), max_size=2, unique=True),
    "init": st.sampled_from([True, False, "gaussian", "orthogonal", "olora", "mica", "pissa"])
    | st.just({"kind": "pissa", "niter": 2}),
    "layers_to_transform": st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=2, unique=True),
    "layers_pattern": st.just("layers") | st.lists(st.just("layers"), max_size=1),
    "rank_pattern": st.dictionaries(st.sampled_from(["q_proj", ".*v_proj"]), st.integers(1, 6), max_size=2),
    "alpha_pattern": st.dictionaries(st.sampled_from(["q_proj", ".*v_proj"]), st.just(2.5), max_size=2),
    "trainable_token_indices": st.lists(st.integers(0, 9), max_size=2, unique=True)
    | st.dictionaries(st.just("embed_tokens"), st.lists(st.integers(0, 9), max_size=2, unique=True), max_size=1),
    "use_dora": flags,
    "lora_bias": flags,
    "fan_in_fan_out": flags,
    "task_type": st.sampled_from(["CAUSAL_LM", "SEQ_CLS", "TOKEN_CLS"]),
    "alora_invocation_tokens": st.lists(st.integers(0, 9), max_size=3),
    "velora_config": st.just({}),
    "monteclora_config": st.just({}),
    "use_bdlora": blocks | st.just({}),
    "arrow_config": st.just({}),
    "kasa_config": st.just({}),
}


@st.composite
def loras(draw: st.DrawFn) -> dict[str, Any]:
    """A rank, an alpha and a few options, so that most are clean."""
    chosen = draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=3, unique=True))
    lora = {"rank": draw(st.integers(1, 8)), "alpha": 16, "target_modules": ["q_proj", "v_proj", "o_proj"]}
    return lora | {name: draw(OPTIONS[name]) for name in chosen}


def clean(lora: dict[str, Any]) -> LoraSpec | None:
    try:
        spec = LoraSpec(base_model="tiny-qwen2", lora=lora)
    except SpecError:
        return None
    return None if any(d.is_error for d in check(spec)) else spec


@pytest.mark.filterwarnings("ignore")  # PEFT's own, which are not refusals
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(lora=loras())
def test_a_clean_spec_is_wrapped_and_runs(lora: dict[str, Any]) -> None:
    spec = clean(lora)
    if spec is None:
        return
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(CONFIG)
        model.enable_input_require_grads()
        wrapped = get_peft_model(model, spec.to_peft())
        wrapped(input_ids=torch.arange(8)[None]).logits.sum().backward()
    assert any(parameter.requires_grad for parameter in wrapped.parameters())
