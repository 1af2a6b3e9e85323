"""The contract of the system that this project reimplements, row by row, against the real PEFT."""

import json

import pytest
import torch
from peft import PeftModel, TaskType, get_peft_model
from safetensors.torch import load_file, save_file

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.recipe import prepare
from lora_spec.spec.root import LoraSpec

VERL = {"dtype": "bfloat16", "adapter_dtype": "bfloat16", "cast_buffers": True}


def fingerprint(model):
    return {
        "weights": {name: (p.clone(), p.requires_grad) for name, p in model.named_parameters()},
        "buffers": {name: b.clone() for name, b in model.named_buffers()},
        "hooks": {n: (len(m._forward_hooks), len(m._forward_pre_hooks)) for n, m in model.named_modules()},
        "modes": {name: module.training for name, module in model.named_modules()},
    }


def same(one, two):
    return (
        one["hooks"] == two["hooks"]
        and one["modes"] == two["modes"]
        and one["weights"].keys() == two["weights"].keys()
        and all(
            torch.equal(a, two["weights"][n][0]) and g == two["weights"][n][1] for n, (a, g) in one["weights"].items()
        )
        and all(torch.equal(b, two["buffers"][n]) for n, b in one["buffers"].items())
    )


# PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
class TestVerlContract:
    @pytest.mark.parametrize("lora", [None, {"rank": 0, "alpha": 16, "target_modules": ["q_proj"]}])
    def test_lora_off_gives_the_model_back_untouched(self, base, lora):
        model = base()
        before = fingerprint(model)
        prepared = prepare(model, LoraSpec(base_model="tiny-qwen2", lora=lora, prepare=VERL))
        assert prepared.model is model
        assert same(before, fingerprint(model))
        assert [step.name for step in prepared.steps] == ["verify"]
        assert prepared.trainable_parameters == prepared.all_parameters == sum(p.numel() for p in model.parameters())

    def test_input_grads_are_enabled_on_the_base_before_wrapping(self, base, spec, monkeypatch):
        model, order = base(), []
        enable, inject = type(model).enable_input_require_grads, PeftModel.__init__
        monkeypatch.setattr(
            type(model), "enable_input_require_grads", lambda self: (order.append("enable"), enable(self))[1]
        )
        monkeypatch.setattr(
            PeftModel, "__init__", lambda self, *a, **k: (order.append("wrap"), inject(self, *a, **k))[1]
        )
        prepared = prepare(model, spec(VERL))
        calls = [call for index, call in enumerate(order) if index == 0 or call != order[index - 1]]
        assert calls[:3] == ["wrap", "enable", "wrap"]  # the first is the rehearsal's, on an empty copy
        assert len(prepared.model.get_input_embeddings()._forward_hooks) == 1

    @pytest.mark.parametrize("targets", [["q_proj", "v_proj"], "all-linear", {"regex": r".*\.[0-2]\.mlp\..*_proj"}])
    def test_a_new_adapter_is_what_get_peft_model_makes(self, base, spec, targets):
        config = spec(target_modules=targets)
        torch.manual_seed(3)
        prepared = prepare(base(), spec(VERL, target_modules=targets))
        torch.manual_seed(3)
        wanted = get_peft_model(base(), config.to_peft()).to(torch.bfloat16)
        assert {n: (p.dtype, p.requires_grad) for n, p in prepared.model.named_parameters()} == {
            n: (p.dtype, p.requires_grad) for n, p in wanted.named_parameters()
        }
        for (name, one), (_, two) in zip(prepared.model.state_dict().items(), wanted.state_dict().items(), strict=True):
            assert torch.equal(one, two), name

    def test_settings_reach_peft(self, base, spec):
        prepared = prepare(base(), spec(VERL, rank=4, alpha=32))
        config = prepared.model.peft_config["default"]
        assert (config.r, config.lora_alpha, config.bias) == (4, 32, "none")
        assert config.target_modules == {"q_proj", "v_proj"}
        assert config.task_type is TaskType.CAUSAL_LM

    def test_the_whole_model_is_cast_buffers_included(self, base, spec):
        prepared = prepare(base(), spec(VERL))
        tensors = [*prepared.model.parameters(), *prepared.model.buffers()]
        assert {tensor.dtype for tensor in tensors if tensor.is_floating_point()} == {torch.bfloat16}

    def test_the_native_form_keeps_buffers_and_adapters_in_float32(self, base, spec):
        prepared = prepare(base(), spec({"dtype": "bfloat16", "adapter_dtype": "float32"}, modules_to_save=["lm_head"]))
        model = prepared.model
        assert {p.dtype for p in model.parameters() if p.requires_grad} == {torch.float32}
        assert {p.dtype for p in model.parameters() if not p.requires_grad} == {torch.bfloat16}
        assert {b.dtype for b in model.buffers() if b.is_floating_point()} == {torch.float32}
        assert all(check.passed for check in prepared.checks), prepared.checks

    def test_an_adapter_path_loads_the_adapter_to_train_on(self, base, adapter):
        folder = adapter()
        model = base()
        prepared = prepare(model, LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(folder)}, prepare=VERL))
        wanted = PeftModel.from_pretrained(base(), folder, is_trainable=True).to(torch.bfloat16)
        for (name, one), (_, two) in zip(prepared.model.named_parameters(), wanted.named_parameters(), strict=True):
            assert torch.equal(one, two), name
            assert one.requires_grad == two.requires_grad == ("lora_" in name)
        assert [s.name for s in prepared.steps] == [
            "enable_input_require_grads", "load_adapter", "task_type", "cast", "verify",
        ]  # fmt: skip
        assert len(prepared.model.get_input_embeddings()._forward_hooks) == 1
        assert all(check.passed for check in prepared.checks), prepared.checks

    def test_path_with_rank_0_loads_the_adapter(self, base, adapter):
        lora = {"adapter_path": str(adapter())}
        prepared = prepare(base(), LoraSpec(base_model="tiny-qwen2", lora=lora, prepare=VERL))
        assert prepared.model.peft_config["default"].r == 8

    @pytest.mark.parametrize(("text", "enum"), [("CAUSAL_LM", TaskType.CAUSAL_LM), ("SEQ_CLS", TaskType.SEQ_CLS)])
    def test_a_task_type_that_is_text_becomes_the_enum_and_keeps_what_it_says(self, base, adapter, text, enum):
        folder = adapter()
        config = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(json.dumps(config | {"task_type": text}))
        model = base()
        model.score = torch.nn.Linear(64, 2)  # the head that SEQ_CLS trains
        if text == "SEQ_CLS":
            file = folder / "adapter_model.safetensors"
            save_file(load_file(file) | {"base_model.model.score.weight": torch.ones(2, 64),
                                         "base_model.model.score.bias": torch.ones(2)}, file)  # fmt: skip
        spec = LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(folder)}, prepare=VERL)
        prepared = prepare(model, spec)
        assert prepared.model.peft_config["default"].task_type is enum

    def test_an_adapter_that_is_only_a_pickle_is_refused_before_anything_changes(self, base, adapter):
        folder = adapter()
        torch.save(load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
        (folder / "adapter_model.safetensors").unlink()
        model = base()
        before = fingerprint(model)
        with pytest.raises(SpecError, match=r"LS305 lora.adapter_path: .*exists only as a pickle"):
            prepare(model, LoraSpec(base_model="tiny-qwen2", lora={"adapter_path": str(folder)}, prepare=VERL))
        assert same(before, fingerprint(model))

    @pytest.mark.parametrize("settings", [VERL, {"dtype": "bfloat16"}, {"dtype": "auto", "adapter_dtype": "auto"}])
    def test_only_the_adapter_trains(self, base, spec, settings):
        prepared = prepare(base(), spec(settings))
        assert {n for n, p in prepared.model.named_parameters() if p.requires_grad} == {
            n for n, _ in prepared.model.named_parameters() if "lora_" in n
        }
        assert all(check.passed for check in prepared.checks), prepared.checks

    def test_the_trainable_line_is_pefts(self, base, spec, capsys):
        prepared = prepare(base(), spec(VERL))
        prepared.model.print_trainable_parameters()
        assert capsys.readouterr().out == prepared.trainable_line + "\n"

    def test_what_peft_refuses_is_a_diagnostic_and_the_model_stays_as_it_was(self, base, spec):
        model = base()
        before = fingerprint(model)
        with pytest.raises(SpecError) as raised:
            prepare(model, spec(VERL, target_modules=["self_attn"]))
        (found,) = raised.value.diagnostics
        assert found.code == "LS301"
        assert found.message.startswith("peft refused: Target module Qwen2Attention(")
        assert found.document_path == ("lora", "target_modules")
        assert same(before, fingerprint(model))
