"""Order, steps, refusals, warnings and seeds of the recipe."""

import socket
import threading
import warnings

import pytest
import torch
from peft import get_peft_model
from safetensors.torch import load_file

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.recipe import as_planned, load, prepare
from lora_spec.preparation.values import Check
from lora_spec.spec.quantization import Quantization
from lora_spec.spec.root import LoraSpec

# PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")


def test_the_steps_of_load_in_order_with_time_and_memory(spec):
    seen = []
    prepared = load(spec({"gradient_checkpointing": True}), on_step=seen.append)
    assert seen == [step.name for step in prepared.steps]
    assert seen == [
        "build", "enable_input_require_grads", "gradient_checkpointing", "wrap_peft", "task_type", "cast", "verify",
    ]  # fmt: skip
    assert all(step.seconds >= 0 and step.peak_bytes > 0 and step.did for step in prepared.steps)
    assert prepared.passed
    assert prepared.diagnostics == ()
    assert prepared.trainable_line == "trainable params: 7,168 || all params: 221,248 || trainable%: 3.2398"


def test_the_shipped_model_is_the_same_on_each_run_and_leaves_the_random_state_alone(spec):
    before = torch.get_rng_state()
    one, two = (load(spec({"seed": 5})).model for _ in range(2))
    assert torch.equal(before, torch.get_rng_state())
    for name, parameter in one.named_parameters():
        assert torch.equal(parameter, two.get_parameter(name)), name


def test_without_a_seed_the_adapter_is_drawn_as_peft_draws_it(base, spec):
    torch.manual_seed(11)
    prepared = prepare(base(), spec({"dtype": "auto"}))
    after = torch.get_rng_state()
    torch.manual_seed(11)
    wanted = get_peft_model(base(), spec().to_peft())
    assert torch.equal(after, torch.get_rng_state())
    for name, parameter in wanted.named_parameters():
        assert torch.equal(parameter, prepared.model.get_parameter(name)), name


def test_sharding_is_refused_not_ignored(base, spec):
    with pytest.raises(SpecError, match=r"LS304 prepare.fsdp: sharding \(fsdp2\) is not available"):
        prepare(base(), spec({"fsdp": {"strategy": "fsdp2"}}))


def test_what_trains_is_held_against_the_plan(base, spec):
    prepared = prepare(base(), spec())
    assert prepared.checks[-1] == Check(
        "as-planned", passed=True, detail="7,168 of 221,248 parameters train, as planned"
    )
    assert prepared.plan.trainable_parameters == 7168
    surplus = prepared.plan._replace(trainable_parameters=7167)
    assert as_planned(surplus, prepared.model).passed is False


def test_a_model_that_is_not_quantised_as_asked_is_refused(base, spec):
    asked = spec().model_copy(update={"quantization": Quantization(bits=4)})
    with pytest.raises(SpecError, match="LS304 quantization: the model is not quantised, and quantization asks for 4"):
        prepare(base(), asked)
    rehearsed = load(asked, tiny=True)
    assert "quantization left out: random weights are not quantised" in rehearsed.changes
    assert rehearsed.passed


def test_a_model_that_peft_has_wrapped_is_refused(base, spec):
    with pytest.raises(SpecError, match="LS308"):
        prepare(get_peft_model(base(), spec().to_peft()), spec())


def test_checkpointing_that_the_class_lacks_is_refused_before_anything_changes(base, spec):
    model = base()
    model.supports_gradient_checkpointing = False
    with pytest.raises(SpecError, match=r"LS307 prepare.gradient_checkpointing"):
        prepare(model, spec({"gradient_checkpointing": True}))
    assert not model.get_input_embeddings()._forward_hooks


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointing_in_training_mode_passes_every_check(base, spec, use_reentrant):
    model = base().train()
    prepared = prepare(model, spec({"gradient_checkpointing": {"use_reentrant": use_reentrant}}))
    assert prepared.model.base_model.model.model.layers[0].gradient_checkpointing
    assert prepared.passed
    assert all(check.passed for check in prepared.checks)


def test_what_peft_warns_of_is_an_info(base, spec):
    prepared = prepare(base(), spec(fan_in_fan_out=True))
    found = prepared.diagnostics[0]
    assert (found.code, found.severity) == ("LS302", "info")
    assert found.message.startswith("peft warned: fan_in_fan_out is set to True")


def test_an_init_that_only_the_weights_refuse_says_that_the_model_is_changed(base, spec):
    with pytest.raises(SpecError, match=r"LS301 .*the model is partly changed"):
        prepare(base(), spec(rank=128, init="mica"))


@pytest.mark.parametrize("change", ["rank", "targets", "truncated", "no config", "no weights", "absent"])
def test_an_adapter_that_does_not_fit_is_refused_before_anything_changes(base, adapter, change):
    folder = adapter(rank=4) if change == "rank" else adapter()
    config, weights = folder / "adapter_config.json", folder / "adapter_model.safetensors"
    match change:
        case "rank":
            config.write_text(config.read_text().replace('"r": 4', '"r": 8'))
        case "targets":
            config.write_text(config.read_text().replace('"q_proj"', '"o_proj"'))
        case "truncated":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "no config":
            config.unlink()
        case "no weights":
            weights.unlink()
        case "absent":
            folder = folder / "elsewhere"
    model = base()
    spec = LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(folder)})
    with pytest.raises(SpecError, match=r"LS305 lora.adapter_path"):
        prepare(model, spec)
    assert not model.get_input_embeddings()._forward_hooks
    assert not any("lora" in name for name, _ in model.named_modules())


def test_modules_to_save_are_loaded_without_rounding(base, spec, adapter):
    folder = adapter(modules_to_save=["lm_head"])
    spec = LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(folder)})
    prepared = prepare(base().to(torch.bfloat16), spec)
    saved = load_file(folder / "adapter_model.safetensors")["base_model.model.lm_head.weight"]
    assert torch.equal(prepared.model.base_model.model.lm_head.modules_to_save["default"].weight, saved)


def test_a_base_that_is_not_here_is_said_and_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("asked the network"))
    spec = LoraSpec(base_model="nobody/nothing", lora={"rank": 8, "alpha": 16})
    with pytest.raises(SpecError, match="LS306 base_model: cannot find 'nobody/nothing': it is neither"):
        load(spec)


def test_a_local_folder_is_loaded_with_its_weights(base, tmp_path):
    model = base()
    model.save_pretrained(tmp_path / "base")
    spec = LoraSpec(base_model=str(tmp_path / "base"), lora={"rank": 8, "alpha": 16}, prepare={"dtype": "float32"})
    with warnings.catch_warnings(record=True):
        prepared = load(spec)
    loaded = prepared.model.get_base_model()
    assert torch.equal(loaded.model.norm.weight, model.model.norm.weight)
    assert prepared.model.peft_config["default"].base_model_name_or_path == str(tmp_path / "base")
    assert prepared.passed


def test_an_unknown_model_class_is_said(spec):
    with pytest.raises(SpecError, match=r"LS306 model_class: transformers .* has no model class 'Qwen9ForCausalLM'"):
        load(spec(root={"model_class": "Qwen9ForCausalLM"}))


def test_another_model_class_makes_another_task(spec):
    prepared = load(spec(root={"model_class": "Qwen2ForSequenceClassification"}))
    assert prepared.model.peft_config["default"].task_type == "SEQ_CLS"
    assert "base_model.model.score.modules_to_save.default.weight" in dict(prepared.model.named_parameters())
    assert prepared.passed, prepared.checks


@pytest.mark.parametrize(
    ("kind", "words"), [("IA3", "the adapter is IA3, not LoRA"), ("WUMPUS", "PEFT cannot read the adapter's config")]
)
def test_an_adapter_of_another_method_is_refused(base, adapter, kind, words):
    folder = adapter()
    config = folder / "adapter_config.json"
    config.write_text(config.read_text().replace('"peft_type": "LORA"', f'"peft_type": "{kind}"'))
    with pytest.raises(SpecError, match=rf"LS305 lora.adapter_path: {words}"):
        prepare(base(), LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(folder)}))


def test_a_wrapped_model_is_refused_with_lora_off_too(base, spec):
    with pytest.raises(SpecError, match="LS308"):
        prepare(get_peft_model(base(), spec().to_peft()), LoraSpec(base_model="tiny-qwen2"))


def test_a_model_that_cannot_be_copied_is_prepared_and_its_round_trip_not_judged(base, spec):
    model = base()
    model.kept = threading.Lock()
    prepared = prepare(model, spec())
    checks = {check.name: check for check in prepared.checks}
    last = checks.pop("save-load-round-trip")
    assert all(check.passed for check in checks.values())
    assert (last.passed, last.detail) == (
        None,
        "not run: the model cannot be copied (cannot pickle '_thread.lock' object)",
    )
