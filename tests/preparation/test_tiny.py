"""--tiny: the same architecture, small; and the model types that it works for."""

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.build import SHIPPED
from lora_spec.preparation.build_tiny import tiny_model
from lora_spec.preparation.recipe import load, prepare
from lora_spec.preparation.tiny import CannotShrink, shrink_config
from lora_spec.rules import misapplied
from lora_spec.spec.root import LoraSpec

MODELS = Path(__file__).parents[3] / "shared" / "models"

WORKS = {
    "apertus": {}, "arcee": {}, "bloom": {}, "cohere": {}, "cohere2": {}, "deepseek_v3": {}, "ernie4_5": {},
    "exaone4": {}, "falcon": {}, "gemma": {}, "gemma2": {}, "gemma3_text": {}, "glm": {}, "glm4": {}, "glm4_moe": {},
    "gpt2": {}, "gpt_bigcode": {}, "gpt_neox": {}, "gpt_oss": {}, "gptj": {}, "granite": {}, "granitemoe": {},
    "helium": {}, "hunyuan_v1_dense": {"head_dim": 128}, "lfm2": {}, "llama": {}, "minimax": {}, "ministral": {"head_dim": 128}, "mistral": {},
    "mixtral": {}, "nemotron": {"num_key_value_heads": 8}, "olmo": {}, "olmo2": {}, "olmo3": {}, "olmoe": {}, "opt": {}, "phi": {}, "phi3": {},
    "qwen2": {}, "qwen2_moe": {}, "qwen3": {}, "qwen3_moe": {}, "qwen3_next": {}, "seed_oss": {}, "smollm3": {},
    "stablelm": {}, "starcoder2": {},
}  # fmt: skip
"""Model types that a rehearsal works for, from transformers' default config, depth cut so that the test is quick."""

DEPTH = ("num_hidden_layers", "n_layer", "num_layers")


def default_config(model_type, settings):
    config = AutoConfig.for_model(model_type, **settings)
    for name in DEPTH:
        if isinstance(vars(config).get(name), int):
            setattr(config, name, 4)
    if isinstance(vars(config).get("layer_types"), list):
        config.layer_types = config.layer_types[:4]
    return config


def spec_for(base_model="tiny-qwen2", prepare=None, **lora):
    lora = {"rank": 4, "alpha": 8, "target_modules": "all-linear"} | lora
    return LoraSpec(base_model=str(base_model), lora=lora, prepare=prepare or {"device": "cpu"})


@pytest.mark.parametrize("model_type", WORKS)
def test_a_rehearsal_works_for(model_type):
    spec = spec_for()
    config = default_config(model_type, WORKS[model_type])
    model, changes = tiny_model(config, spec)
    assert changes
    assert sum(p.numel() for p in model.parameters()) < 20_000_000
    prepared = prepare(model, spec)
    assert prepared.passed, prepared.checks
    assert next(check for check in prepared.checks if check.name == "gradients-reach-adapters").passed


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no {MODELS}")
@pytest.mark.parametrize(
    "name", ["DeepSeek-V2-Lite", "Qwen2.5-VL-7B-Instruct", "Qwen3.5-35B-A3B", "gemma-3-4b-it", "Phi-3-mini-4k-instruct"]
)
def test_a_rehearsal_of_a_real_config_keeps_depth_and_names(name):
    spec = spec_for(MODELS / name, target_modules={"regex": r".*\.(q_proj|o_proj|qkv_proj)"})
    prepared = load(spec, tiny=True)
    assert prepared.passed, prepared.checks
    assert not any("modules are gone" in change for change in prepared.changes)
    whole = AutoConfig.from_pretrained(MODELS / name).get_text_config()
    assert prepared.model.config.get_text_config().num_hidden_layers == whole.num_hidden_layers
    assert any("vocab_size" in change and "-> 512" in change for change in prepared.changes)


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no {MODELS}")
def test_what_peft_refuses_is_refused_in_the_rehearsal_too():
    with pytest.raises(SpecError, match=r"LS301 .*Mamba"):
        load(spec_for(MODELS / "Nemotron-H-56B-Base-8K"), tiny=True)


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no {MODELS}")
def test_a_router_that_an_adapter_breaks_is_refused():
    with pytest.raises(SpecError, match=r"LS233.*Llama4Router returns more than one value"):
        load(spec_for(MODELS / "Llama-4-Scout-17B-16E-Instruct"), tiny=True)


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no {MODELS}")
def test_a_forward_pass_that_an_adapter_breaks_is_found(monkeypatch):
    """Where no rule knows the module, the proof does."""
    monkeypatch.setattr(misapplied, "RETURN_MORE", set())
    prepared = load(spec_for(MODELS / "Llama-4-Scout-17B-16E-Instruct"), tiny=True)  # the router returns a tuple
    assert not prepared.passed
    found = next(check for check in prepared.checks if check.name == "gradients-reach-adapters")
    assert "feed_forward.router" in found.detail


def test_the_shipped_model_can_be_rehearsed():
    prepared = load(spec_for(), tiny=True)
    assert prepared.passed
    assert prepared.steps[0].did == "Qwen2ForCausalLM, tiny, random weights"


def shipped_config(**settings):
    return AutoConfig.from_pretrained(SHIPPED / "tiny-qwen2", **settings)


def test_what_was_made_smaller_is_said():
    config = shipped_config(
        hidden_size=4096, intermediate_size=9000, num_attention_heads=32, num_key_value_heads=8, vocab_size=50_000,
        bos_token_id=49_999,
    )  # fmt: skip
    small, changes = shrink_config(config, spec_for())
    assert changes == [
        "hidden_size 4096 -> 64",
        "intermediate_size 9000 -> 128",
        "vocab_size 50000 -> 512",
        "num_attention_heads 32 -> 4",
        "num_key_value_heads 8 -> 2",
        "bos_token_id 49999 -> 511",
    ]
    assert small.num_hidden_layers == config.num_hidden_layers
    assert config.hidden_size == 4096


def test_a_size_is_never_raised():
    config = shipped_config(hidden_size=16, intermediate_size=32, num_attention_heads=2, vocab_size=40)
    assert shrink_config(config, spec_for())[1] == []


def test_tokens_that_train_bound_the_vocabulary():
    small, _ = shrink_config(shipped_config(vocab_size=50_000), spec_for(trainable_token_indices=[3, 2000]))
    assert small.vocab_size == 2001


def test_an_init_that_decomposes_weights_bounds_the_widths():
    config = shipped_config(hidden_size=4096, intermediate_size=9000, num_attention_heads=32, num_key_value_heads=8)
    spec = spec_for(rank=64, init="pissa")
    model, _ = tiny_model(config, spec)
    assert model.model.layers[0].self_attn.k_proj.weight.shape == (64, 128)
    assert prepare(model, spec).passed


def test_a_plain_init_does_not():
    config = shipped_config(hidden_size=4096, intermediate_size=9000, num_attention_heads=32, num_key_value_heads=8)
    assert shrink_config(config, spec_for(rank=256))[0].hidden_size == 64


# PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
def test_an_adapter_to_continue_cannot_be_shrunk(adapter):
    spec = LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(adapter())})
    with pytest.raises(CannotShrink, match=r"the adapter in lora.adapter_path has the full size"):
        load(spec, tiny=True)


def test_widths_that_are_not_known_are_said(monkeypatch):
    monkeypatch.setattr("lora_spec.preparation.build_tiny.MOST", 1000)
    with pytest.raises(CannotShrink, match=r"a small qwen2 still has [\d,]+ parameters: its widths are not known here"):
        load(spec_for(), tiny=True)


def test_a_config_that_transformers_refuses_is_said():
    config = shipped_config()
    config.hidden_act = "no such function"
    with pytest.raises(CannotShrink, match="cannot build a small qwen2: KeyError: 'no such function'"):
        tiny_model(config, spec_for())


def test_a_rehearsal_is_the_same_on_each_run():
    one, two = (load(spec_for(prepare={"seed": 1, "device": "cpu"}), tiny=True).model for _ in range(2))
    assert all(torch.equal(p, two.get_parameter(n)) for n, p in one.named_parameters())
