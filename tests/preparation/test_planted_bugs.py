"""Each planted bug fails the check that it belongs to, and the check names the module."""

import pytest
import torch
from peft import IA3Config, LoraConfig, get_peft_model
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2ForSequenceClassification

from lora_spec.preparation.recipe import prepare
from lora_spec.preparation.verify import verify

# PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")

SMALL = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 128, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
Q_PROJ = "base_model.model.model.layers.1.self_attn.q_proj"
V_PROJ = "base_model.model.model.layers.1.self_attn.v_proj"


def qwen(**settings):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Qwen2ForCausalLM(Qwen2Config(**SMALL | settings))


def wrapped(**config):
    config = {"target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"} | config
    return get_peft_model(qwen(), LoraConfig(**config))


def verdicts(model):
    return {check.name: check for check in verify(model)}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("factor", ["lora_A", "lora_B"])
def test_an_adapter_weight_that_is_not_finite(factor, value):
    model = wrapped()
    with torch.no_grad():
        model.get_parameter(f"{Q_PROJ}.{factor}.default.weight")[0, 0] = value
    found = verdicts(model)
    assert found["gradients-reach-adapters"].passed is False
    assert found["gradients-reach-adapters"].detail == (
        f"no gradient can come of NaN or infinity in {Q_PROJ}.{factor}.default.weight"
    )
    assert found["save-load-round-trip"].passed  # it is saved as it is


def test_a_base_weight_that_is_nan():
    model = wrapped()
    with torch.no_grad():
        model.get_parameter("base_model.model.model.layers.1.self_attn.o_proj.weight")[0, 0] = float("nan")
    found = verdicts(model)["gradients-reach-adapters"]
    assert found.passed is False
    assert found.detail == (
        "the output is not a number: these hold NaN or infinity: base_model.model.model.layers.1.self_attn.o_proj.weight"
    )


def test_a_module_that_makes_nan():
    model = wrapped()
    model.base_model.model.model.layers[0].mlp.register_forward_hook(lambda _m, _i, output: output * float("nan"))
    found = verdicts(model)["gradients-reach-adapters"]
    assert found.passed is False
    assert found.detail == (
        "the output is not a number: the first one comes out of base_model.model.model.layers.0.mlp"
    )


def test_both_factors_zero_never_train():
    model = wrapped()
    nn.init.zeros_(model.get_parameter(f"{Q_PROJ}.lora_A.default.weight"))
    found = verdicts(model)["gradients-reach-adapters"]
    assert found.passed is False
    assert found.detail == (
        f"both factors are zero, so no gradient ever comes: {Q_PROJ}.lora_A.default.weight, "
        f"{Q_PROJ}.lora_B.default.weight"
    )


class Around(nn.Module):
    """Uses the weight of a layer that it does not call."""

    def __init__(self, layer):
        super().__init__()
        self.__dict__["layer"] = layer

    def forward(self, x):
        return nn.functional.linear(x, self.layer.base_layer.weight, self.layer.base_layer.bias)


def test_a_layer_whose_weight_is_used_without_calling_it():
    model = wrapped()
    attention = model.base_model.model.model.layers[1].self_attn
    layer, whole = attention.v_proj, type(attention).forward

    def forward(*args, **kwargs):
        attention._modules["v_proj"] = Around(layer)
        try:
            return whole(attention, *args, **kwargs)
        finally:
            attention._modules["v_proj"] = layer

    attention.forward = forward
    before = {name: (p.requires_grad, p.grad) for name, p in model.named_parameters()}
    found = verdicts(model)["gradients-reach-adapters"]
    assert found.passed is False
    assert found.detail == (
        "the model uses the weight without calling the layer, so the adapter does nothing: "
        f"{V_PROJ}.lora_A.default.weight, {V_PROJ}.lora_B.default.weight"
    )
    assert {name: (p.requires_grad, p.grad) for name, p in model.named_parameters()} == before


def test_a_layer_that_was_put_back():
    model = wrapped()
    attention = model.base_model.model.model.layers[1].self_attn
    attention.v_proj = attention.v_proj.base_layer
    found = verdicts(model)["only-adapter-trains"]
    assert found.passed is False
    assert found.detail == "has no adapter, and PEFT says that it targeted it: model.layers.1.self_attn.v_proj"


def test_a_scale_that_is_not_the_config_s():
    model = wrapped()
    model.get_submodule(Q_PROJ).scaling["default"] *= 3
    found = verdicts(model)["save-load-round-trip"]
    assert found.passed is False
    assert found.detail.endswith(f", from {Q_PROJ} on")


def test_a_config_that_does_not_fit_its_weights():
    model = wrapped()
    model.peft_config["default"].r = 4
    found = verdicts(model)["save-load-round-trip"]
    assert found.passed is False
    assert found.detail.startswith("PEFT cannot load what was saved: RuntimeError: Error(s) in loading state_dict")


def test_one_module_in_another_dtype_is_named_without_a_spec():
    model = wrapped()
    model.base_model.model.model.layers[1].self_attn.o_proj.to(torch.bfloat16)
    found = verdicts(model)
    assert "other than most: base_model.model.model.layers.1.self_attn.o_proj.weight (no" in found["dtypes"].detail
    assert "it fails in base_model.model.model.layers.1.self_attn.o_proj: R" in found["gradients-reach-adapters"].detail


def test_no_active_adapter_fails():
    model = wrapped()
    model.delete_adapter("default")
    first, *rest = verify(model)
    assert (first.passed, first.detail) == (False, "nothing trains: no adapter is active")
    assert [check.passed for check in rest] == [None] * 4


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda m: m.base_model.model], ids=["wrapper", "without PeftModel"])
def test_adapters_that_cannot_be_seen_are_misuse_and_not_lora_off(wrap):
    with pytest.raises(TypeError, match="holds adapters and is not a PeftModel: pass what get_peft_model gave"):
        verify(wrap(wrapped()))


def test_another_method_than_lora_is_misuse():
    config = IA3Config(target_modules=["k_proj"], feedforward_modules=[], task_type="CAUSAL_LM")
    with pytest.raises(TypeError, match="verify knows LoRA, not IA3"):
        verify(get_peft_model(qwen(), config))


def test_two_active_adapters_pass():
    model = wrapped()
    model.add_adapter("other", LoraConfig(target_modules=["q_proj"], r=4))
    model.base_model.set_adapter(["default", "other"])
    assert all(check.passed for check in verify(model))
    assert model.active_adapters == ["default", "other"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_factor_that_stays_frozen_is_cast_with_the_one_that_trains(spec, dtype):
    prepared = prepare(qwen(), spec({"dtype": dtype, "device": "cpu"}, init="mica"))
    assert all(c.passed for c in prepared.checks if c.name != "as-planned"), prepared.checks
    assert prepared.model.get_parameter(f"{Q_PROJ}.lora_B.default.weight").dtype == torch.float32


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_kasa_s_truncated_base_is_not_truncated_again(spec, dtype):
    prepared = prepare(qwen(), spec({"dtype": dtype, "device": "cpu"}, kasa_config={}))
    assert all(c.passed for c in prepared.checks if c.name != "as-planned"), prepared.checks


@pytest.mark.parametrize("saved", [["embed_tokens"], ["embed_tokens", "lm_head"], ["input_layernorm"]])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.filterwarnings("ignore:.*[Tt]ie:UserWarning")
def test_modules_to_save_in_float32_beside_bfloat16_are_compared_too(spec, saved, tied):
    prepared = prepare(qwen(tie_word_embeddings=tied), spec(modules_to_save=saved))
    assert all(c.passed for c in prepared.checks if c.name != "as-planned"), prepared.checks


def test_a_classifier_without_padding_is_probed():
    with torch.random.fork_rng():
        model = Qwen2ForSequenceClassification(Qwen2Config(**SMALL))
    config = LoraConfig(target_modules=["q_proj"], task_type="SEQ_CLS")
    assert all(check.passed for check in verify(get_peft_model(model, config)))
