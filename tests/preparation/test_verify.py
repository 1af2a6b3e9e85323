"""verify: what it proves, what it finds, and that it leaves everything as it was."""

import random

import numpy as np
import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from lora_spec.preparation import verify_roundtrip
from lora_spec.preparation.recipe import prepare
from lora_spec.preparation.verify import CHECKS, verify

pytestmark = [
    # PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),
]

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
    "bos_token_id": None,
    "eos_token_id": None,
}


def qwen(**settings):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Qwen2ForCausalLM(Qwen2Config(**SMALL | settings))


def moe():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Qwen3MoeForCausalLM(
            Qwen3MoeConfig(**SMALL, moe_intermediate_size=16, num_experts=4, num_experts_per_tok=2, head_dim=8)
        )


def wrapped(model=None, **config):
    return get_peft_model(
        model or qwen(), LoraConfig(**{"target_modules": ["q_proj"], "task_type": "CAUSAL_LM"} | config)
    )


def by_name(checks):
    return {check.name: check for check in checks}


CONFIGS = {
    "plain": {},
    "all-linear": {"target_modules": "all-linear"},
    "gaussian": {"init_lora_weights": "gaussian"},
    "random": {"init_lora_weights": False},
    "orthogonal": {"init_lora_weights": "orthogonal"},
    "pissa": {"init_lora_weights": "pissa"},
    "olora": {"init_lora_weights": "olora"},
    "mica": {"init_lora_weights": "mica"},
    "dora": {"use_dora": True},
    "rslora": {"use_rslora": True},
    "lora_bias": {"lora_bias": True},
    "bias lora_only": {"bias": "lora_only"},
    "bias all": {"bias": "all"},
    "dropout": {"lora_dropout": 0.5},
    "rank_pattern": {"target_modules": ["q_proj", "v_proj"], "rank_pattern": {"v_proj": 4}},
    "embedding": {"target_modules": ["embed_tokens", "q_proj"]},
    "lm_head": {"target_modules": ["lm_head"]},
    "modules_to_save": {"modules_to_save": ["lm_head"]},
    "embed_to_save": {"modules_to_save": ["embed_tokens", "lm_head"]},
    "norms": {"modules_to_save": ["input_layernorm"]},
    "tokens": {"trainable_token_indices": [5, 7, 100]},
    "layers": {"layers_to_transform": [1]},
    "alora": {"alora_invocation_tokens": [3, 4]},
}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::peft.utils.warning.PeftWarning")
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
def test_every_form_of_lora_passes(name, train):
    model = wrapped(**CONFIGS[name]).train(train)
    for check in verify(model):
        assert check.passed, check


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "config",
    [
        {"trainable_token_indices": [5, 7]},
        {"target_modules": ["embed_tokens"], "ensure_weight_tying": True},
        {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
        {"modules_to_save": ["embed_tokens", "lm_head"]},
        {"target_modules": ["embed_tokens", "q_proj"]},
    ],
)
def test_tied_embeddings_pass(config):
    for check in verify(wrapped(qwen(tie_word_embeddings=True), **config)):
        assert check.passed, check


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "config",
    [
        {"target_modules": "all-linear"},
        {"target_modules": ["q_proj"], "target_parameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]},
        {"target_modules": [], "target_parameters": ["mlp.experts.down_proj"]},
        {"target_modules": ["q_proj", "gate"]},
    ],
)
def test_parameters_of_fused_experts_pass(config):
    model = wrapped(moe(), **config)
    for check in verify(model):
        assert check.passed, check


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("config", ["plain", "dora", "modules_to_save", "bias all", "tokens"])
def test_mixed_dtypes_pass(dtype, config):
    for check in verify(wrapped(qwen().to(dtype), **CONFIGS[config])):
        assert check.passed, check


def test_replicated_layers_pass_where_the_model_can_run_them():
    with torch.random.fork_rng():
        model = LlamaForCausalLM(LlamaConfig(**SMALL))
    for check in verify(wrapped(model, layer_replication=[[0, 2], [1, 2]])):
        assert check.passed, check


def test_replicated_layers_that_the_model_cannot_run_fail():
    reached = by_name(verify(wrapped(layer_replication=[[0, 2], [1, 2]])))["gradients-reach-adapters"]
    assert reached.passed is False  # transformers 5 looks up config.layer_types by the layer's index
    assert "IndexError" in reached.detail


def test_a_second_inactive_adapter_does_not_count():
    model = wrapped()
    model.add_adapter("other", LoraConfig(target_modules=["v_proj"], task_type="CAUSAL_LM"))
    for check in verify(model):
        assert check.passed, check


def test_lora_off_passes_and_says_so():
    checks = verify(qwen())
    assert [check.name for check in checks] == list(CHECKS)
    assert {(check.passed, check.detail) for check in checks} == {(True, "LoRA is off: nothing to prove")}


def test_a_base_weight_that_trains_is_named():
    model = wrapped()
    model.base_model.model.lm_head.weight.requires_grad_()
    checks = by_name(verify(model))
    assert checks["only-adapter-trains"].passed is False
    assert checks["only-adapter-trains"].detail == "trains, and should not: base_model.model.lm_head.weight"
    assert checks["frozen-get-no-gradient"].passed is False
    assert checks["frozen-get-no-gradient"].detail == "got a gradient, and should not: base_model.model.lm_head.weight"


def test_adapter_weights_that_are_frozen_are_named_and_counted():
    model = wrapped(target_modules=["q_proj", "v_proj"])
    for name, parameter in model.named_parameters():
        if "q_proj.lora_" in name:
            parameter.requires_grad = False
    checks = by_name(verify(model))
    assert checks["only-adapter-trains"].passed is False
    assert checks["only-adapter-trains"].detail == (
        "is frozen, and should train: base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight, "
        "base_model.model.model.layers.0.self_attn.q_proj.lora_B.default.weight, "
        "base_model.model.model.layers.1.self_attn.q_proj.lora_A.default.weight and 1 more"
    )


def test_a_lost_gradient_is_found():
    model = wrapped(target_modules=["q_proj", "v_proj"])
    layer = model.base_model.model.model.layers[0].self_attn.v_proj
    layer.lora_B["default"].register_forward_hook(lambda _m, _i, output: output.detach())
    reached = by_name(verify(model))["gradients-reach-adapters"]
    assert reached.passed is False
    assert "layers.0.self_attn.v_proj.lora_A.default.weight" in reached.detail


def test_a_gradient_of_zero_where_it_should_have_a_size_is_found():
    model = wrapped()
    layer = model.base_model.model.model.layers[1].self_attn.q_proj
    layer.scaling["default"] = 0.0
    reached = by_name(verify(model))["gradients-reach-adapters"]
    assert reached.passed is False
    assert "layers.1.self_attn.q_proj.lora_B.default.weight" in reached.detail


def test_disabled_adapters_fail():
    model = wrapped()
    model.base_model.disable_adapter_layers()
    checks = by_name(verify(model))
    assert checks["only-adapter-trains"].passed is False
    assert checks["gradients-reach-adapters"].passed is False


def test_a_layer_that_no_token_comes_through_is_not_judged():
    model = qwen()
    model.model.tower = nn.Linear(4, 4)
    reached = by_name(verify(wrapped(model, target_modules=["q_proj", "tower"])))["gradients-reach-adapters"]
    assert reached.passed is None
    assert reached.detail == (
        "4 of 6 got one; not reached by a batch of text: base_model.model.model.tower.lora_A.default.weight, "
        "base_model.model.model.tower.lora_B.default.weight"
    )


def test_a_model_without_tokens_is_checked_as_far_as_it_goes():
    model = get_peft_model(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)), LoraConfig(target_modules=["0"]))
    checks = by_name(verify(model))
    assert checks["only-adapter-trains"].passed
    assert checks["gradients-reach-adapters"].passed is None
    assert checks["save-load-round-trip"].passed
    assert checks["save-load-round-trip"].detail == "2 tensors the same; no batch can be made to compare logits"


def test_a_forward_pass_that_only_the_adapter_breaks_fails():
    class Odd(nn.Linear):
        def forward(self, x):
            return super().forward(x), None

    model = qwen()
    for layer in model.model.layers:
        layer.self_attn.odd = Odd(32, 32)
        layer.self_attn.register_forward_pre_hook(lambda m, _a, k: m.odd(k["hidden_states"]) and None, with_kwargs=True)
    reached = by_name(verify(wrapped(model, target_modules=["odd"])))["gradients-reach-adapters"]
    assert reached.passed is False
    assert reached.detail.startswith("the forward pass fails in base_model.model.model.layers.0.self_attn.odd, and wit")


def test_dtypes_that_were_not_asked_for_are_named(base, spec):
    wanted = spec({"dtype": "bfloat16"})
    model = prepare(base(), wanted).model
    model.base_model.model.model.norm.float()
    found = by_name(verify(model, wanted))["dtypes"]
    assert found.passed is False
    assert found.detail.endswith("base_model.model.model.norm.weight (torch.float32)")
    assert by_name(verify(model))["dtypes"].passed


def test_a_save_that_loses_a_tensor_is_found(monkeypatch):
    whole = verify_roundtrip.load_file
    monkeypatch.setattr(
        verify_roundtrip, "load_file", lambda path: {k: v for k, v in whole(path).items() if "layers.0" not in k}
    )
    found = by_name(verify(wrapped()))["save-load-round-trip"]
    assert found.passed is False
    assert "layers.0.self_attn.q_proj.lora_A.weight" in found.detail


def test_an_adapter_beyond_the_limit_is_not_copied(monkeypatch):
    monkeypatch.setattr(verify_roundtrip, "LIMIT", 10)
    found = by_name(verify(wrapped()))["save-load-round-trip"]
    assert found.passed is None
    assert found.detail.startswith("not run: 4,096 bytes of adapter, more than 10")


def snapshot(model):
    return {
        "parameters": {n: p.detach().clone() for n, p in model.named_parameters(remove_duplicate=False)},
        "objects": {n: id(p) for n, p in model.named_parameters(remove_duplicate=False)},
        "buffers": {n: b.clone() for n, b in model.named_buffers()},
        "gradients": {n: p.grad for n, p in model.named_parameters()},
        "trains": {n: p.requires_grad for n, p in model.named_parameters()},
        "modes": {n: m.training for n, m in model.named_modules()},
        "hooks": {n: (list(m._forward_hooks), list(m._forward_pre_hooks)) for n, m in model.named_modules()},
        "config": model.config.to_dict(),
        "peft": {n: c.to_dict() for n, c in model.peft_config.items()},
        "active": model.active_adapters,
    }


def assert_same(before, after):
    for part in ("objects", "trains", "modes", "hooks", "config", "peft", "active"):
        assert before[part] == after[part], part
    for part in ("parameters", "buffers"):
        assert before[part].keys() == after[part].keys()
        assert all(torch.equal(value, after[part][name]) for name, value in before[part].items()), part
    assert all(gradient is after["gradients"][name] for name, gradient in before["gradients"].items())


def random_state():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002 - the state that others draw from


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::peft.utils.warning.PeftWarning")
@pytest.mark.parametrize("name", ["plain", "pissa", "dropout", "modules_to_save", "tokens", "bias all", "embedding"])
@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
def test_everything_is_left_as_it_was(name, train):
    model = wrapped(**CONFIGS[name]).train(train)
    model.base_model.model.model.layers[0].eval()
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.ones_like(parameter)
    kept = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    before, randomness = snapshot(model), random_state()
    verify(model)
    assert_same(before, snapshot(model))
    assert random_state() == randomness
    assert all(torch.equal(value, model.get_parameter(n).grad) for n, value in kept.items())


def test_buffers_that_a_pass_changes_are_put_back():
    model = qwen()
    model.model.norm.register_buffer("seen", torch.zeros(1))
    model.model.norm.register_forward_hook(lambda m, _i, _o: m.seen.add_(1) and None)
    model = wrapped(model)
    verify(model)
    assert model.base_model.model.model.norm.seen.item() == 0


def test_an_optimizer_that_steps_in_the_backward_pass_does_not_step():
    model = wrapped()
    stepped = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(stepped.append)
    verify(model)
    assert stepped == []
    assert all(len(p._post_accumulate_grad_hooks) == 1 for p in model.parameters() if p.requires_grad)


def test_a_failing_check_leaves_everything_as_it_was_too():
    model = wrapped()
    layer = model.base_model.model.model.layers[0].self_attn.q_proj
    layer.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(RuntimeError("no")))
    before = snapshot(model)
    verify(model)
    assert_same(before, snapshot(model))


def test_a_loaded_adapter_passes(adapter, base):
    model = PeftModel.from_pretrained(base(), adapter(), is_trainable=True)
    assert all(check.passed for check in verify(model))
