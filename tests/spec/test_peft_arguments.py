"""Everything that peft.LoraConfig can say has a place, and compiles to what PEFT itself makes of it."""

import dataclasses
import json
from typing import Any

import peft
import pytest

from lora_spec import LoraSpec, SpecError
from lora_spec import compile as compile_spec
from lora_spec.diagnostics import Severity
from lora_spec.pipeline import check
from lora_spec.spec.lora import Lora
from lora_spec.spec.peft_arguments import CONFIG_OF_INIT, LEFT_OUT, RENAMED, peft_arguments
from lora_spec.spec.peft_versions import ARGUMENT_SINCE, too_old_for

LORA = {"rank": 8, "alpha": 16, "target_modules": ["q_proj", "v_proj"]}

EVERYTHING: dict[str, Any] = {
    "exclude_modules": {"regex": r".*\.0\..*"},
    "dropout": 0.1,
    "bias": "lora_only",
    "use_rslora": True,
    "modules_to_save": ["lm_head"],
    "init": {"kind": "pissa", "niter": 4},
    "layers_to_transform": [0, 1],
    "layers_pattern": "layers",
    "rank_pattern": {"q_proj": 4},
    "alpha_pattern": {"q_proj": 8},
    "target_parameters": ["mlp.experts.down_proj"],
    "trainable_token_indices": {"embed_tokens": [1, 2]},
    "ensure_weight_tying": True,
    "use_dora": True,
    "lora_bias": True,
    "layer_replication": [[0, 1], [0, 2]],
    "fan_in_fan_out": True,
    "task_type": "SEQ_CLS",
    "megatron_config": {"hidden_size": 8},
    "megatron_core": "megatron.other",
    "alora_invocation_tokens": [5],
    "use_qalora": True,
    "qalora_group_size": 8,
    "velora_config": {"num_groups": 8},
    "monteclora_config": {"num_samples": 4},
    "use_bdlora": {"target_modules_bd_a": ["o_proj"], "nblocks": 2, "match_strict": False},
    "arrow_config": {"top_k": 2},
    "kasa_config": {"beta": 0.5},
    "runtime_config": {"ephemeral_gpu_offload": True},
}
"""A value for each setting that differs from its default; not all of them go together."""


def spec_with(**lora: Any) -> LoraSpec:
    values = {**LORA, **lora}
    if "layers_pattern" in values:
        values.setdefault("layers_to_transform", [0])
    if "target_parameters" in values:
        values["target_modules"] = []
    return LoraSpec(base_model="tiny-qwen2", lora=values)


def test_every_field_of_peft_is_expressible_or_left_out_for_a_reason() -> None:
    theirs = {field.name for field in dataclasses.fields(peft.LoraConfig)}
    ours = {RENAMED.get(name, name) for name in Lora.model_fields} - {"adapter_path", "adapter_name"}
    assert theirs - ours - set(CONFIG_OF_INIT.values()) == set(LEFT_OUT)
    assert ours <= theirs


def test_every_native_setting_is_tried_here() -> None:
    assert {*EVERYTHING, *LORA} == set(Lora.model_fields) - {"adapter_path", "adapter_name"}


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.filterwarnings("ignore")  # PEFT warns of settings that seldom go together
def test_each_setting_arrives_in_the_real_config(name: str) -> None:
    spec = spec_with(**{name: EVERYTHING[name]})
    config = spec.to_peft()
    arguments = peft_arguments(spec)
    assert json.loads(json.dumps(arguments)) == arguments
    said = getattr(config, RENAMED.get(name, name))
    if dataclasses.is_dataclass(said):
        assert {key: getattr(said, key) for key in EVERYTHING[name]} == EVERYTHING[name]
    else:
        wanted = arguments[RENAMED.get(name, name)]
        assert said == (set(wanted) if isinstance(said, set) else wanted)


INITS = {
    "default": True,
    "random": False,
    "gaussian": "gaussian",
    "orthogonal": "orthogonal",
    "olora": "olora",
    "mica": "mica",
    "pissa": "pissa",
    "eva": "eva",
    "corda": "corda",
    "loftq": "loftq",
    "lora_ga": "lora_ga",
}


@pytest.mark.parametrize(("kind", "theirs"), INITS.items())
def test_each_init_has_peft_s_word_and_settings(kind: str, theirs: object) -> None:
    arguments = peft_arguments(spec_with(init=kind))
    assert arguments["init_lora_weights"] == theirs
    assert {a for a in arguments if a.endswith("_config")} == {v for k, v in CONFIG_OF_INIT.items() if k == kind}


@pytest.mark.parametrize(("kind", "argument"), CONFIG_OF_INIT.items())
def test_an_init_s_settings_have_peft_s_defaults(kind: str, argument: str) -> None:
    from peft.tuners.lora import config

    theirs = {"eva": "EvaConfig", "corda": "CordaConfig", "loftq": "LoftQConfig", "lora_ga": "LoraGAConfig"}[kind]
    assert peft_arguments(spec_with(init=kind))[argument] == dataclasses.asdict(getattr(config, theirs)())


def test_arguments_in_full() -> None:
    spec = spec_with(dropout=0.05, modules_to_save=["lm_head"])
    assert compile_spec(spec).data == {
        "task_type": "CAUSAL_LM",
        "r": 8,
        "lora_alpha": 16,
        "target_modules": ["q_proj", "v_proj"],
        "lora_dropout": 0.05,
        "bias": "none",
        "modules_to_save": ["lm_head"],
        "init_lora_weights": True,
    }


def test_the_text_is_the_data() -> None:
    compiled = compile_spec(spec_with())
    assert json.loads(compiled.text) == compiled.data


@pytest.mark.parametrize(
    ("model_class", "task_type"),
    [
        (None, "CAUSAL_LM"),
        ("Qwen2ForCausalLM", "CAUSAL_LM"),
        ("Qwen2ForSequenceClassification", "SEQ_CLS"),
        ("AutoModelForTokenClassification", "TOKEN_CLS"),
        ("Qwen2_5_VLForConditionalGeneration", "CAUSAL_LM"),
        ("AutoModelForSeq2SeqLM", "SEQ_2_SEQ_LM"),
    ],
)
def test_the_task_type_follows_the_model_class(model_class: str | None, task_type: str) -> None:
    spec = LoraSpec(base_model="a", model_class=model_class, lora=LORA)
    assert peft_arguments(spec)["task_type"] == task_type


@pytest.mark.parametrize("lora", [{"rank": 0}, {"adapter_path": "./a"}, None])
def test_without_a_new_adapter_there_is_nothing_to_compile(lora: object) -> None:
    with pytest.raises(SpecError, match="LS501"):
        compile_spec(LoraSpec(base_model="a", lora=lora))


def test_a_fault_of_the_rules_is_not_compiled() -> None:
    with pytest.raises(SpecError, match="LS123"):
        compile_spec(spec_with(target_modules=[".*q_proj", "v_proj"]))


def test_what_an_old_peft_lacks_names_the_version() -> None:
    spec = spec_with(init="mica", rank_pattern={"q_proj": 4})
    assert list(too_old_for(peft_arguments(spec), "0.19.1")) == [("init", "0.20")]
    assert list(too_old_for(peft_arguments(spec), "0.21.2")) == []


def test_the_table_of_versions_knows_only_real_arguments() -> None:
    assert set(ARGUMENT_SINCE) <= {field.name for field in dataclasses.fields(peft.LoraConfig)}


def test_a_real_config_can_be_checked() -> None:
    config = peft.LoraConfig(r=8, lora_alpha=16, target_modules=[".*q_proj", "v_proj"], bias="none")
    [found] = [d for d in check(config) if d.severity is Severity.ERROR]
    assert (found.code, found.document_path) == ("LS123", ("target_modules", 0))


def test_a_real_config_with_bad_values_is_told_in_peft_s_words() -> None:
    config = peft.LoraConfig(r=8, lora_alpha=0, lora_dropout=1.0, target_modules=["q_proj"])
    assert [d.message for d in check(config) if d.is_error] == [
        "lora_alpha must be above 0, not 0",
        "lora_dropout must be below 1, not 1.0",
    ]


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_spec_reads_back_from_the_real_config(name: str) -> None:
    from lora_spec.dialects.peft_config import parse_peft_config

    spec = spec_with(**{name: EVERYTHING[name]})
    parsed = parse_peft_config(spec.to_peft())
    assert not [d for d in parsed.diagnostics if d.is_error]
    assert parsed.draft is not None
    assert peft_arguments(parsed.draft) == peft_arguments(spec) | {"task_type": peft_arguments(spec)["task_type"]}
