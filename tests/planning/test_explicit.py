"""Names written out where PEFT's conversion of experts would reach something else: proven against PEFT itself."""

from typing import Any

import pytest

from lora_spec import LoraSpec, plan, prepare
from lora_spec.inventory.matching import match
from lora_spec.inventory.sources import find_tree
from lora_spec.planning.explicit import explicit_arguments

QWEN3, DEEPSEEK = "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite"


def explicit(base: str, **arguments: Any) -> tuple[int, int] | None:
    """How many modules and parameters the explicit form adapts; None where there is none, or none is needed."""
    tree = find_tree(base).tree
    assert tree is not None
    said = {"r": 8, "lora_alpha": 16, "task_type": "CAUSAL_LM", **arguments}
    written = explicit_arguments(tree, said, match(tree, said))
    if written is None:
        return None
    result = match(tree, written)
    return len(result.modules), len(result.parameters)


def test_a_regex_keeps_its_layers() -> None:
    assert explicit(QWEN3, target_modules=r"model\.layers\.[0-3]\.self_attn\.q_proj") == (4, 0)


def test_a_selection_of_layers_reaches_experts() -> None:
    names = ["q_proj", "gate_proj", "up_proj", "down_proj"]
    assert explicit(QWEN3, target_modules=names, layers_to_transform=[1, 2]) == (2, 4)


def test_an_exclusion_reaches_experts() -> None:
    assert explicit(QWEN3, target_modules="all-linear", exclude_modules=r".*mlp\.experts.*") == (192, 48)


def test_shared_experts_are_no_routed_experts() -> None:
    assert explicit(DEEPSEEK, target_modules=["q_proj", "shared_experts.down_proj"]) == (27, 26)


def test_all_linear_keeps_dense_layers_and_shared_experts() -> None:
    assert explicit(DEEPSEEK, target_modules="all-linear") == (108, 26 * 3 + 3 + 26 * 3)


@pytest.mark.parametrize(
    ("base", "targets"), [(QWEN3, "all-linear"), (QWEN3, ["q_proj", "down_proj"]), ("Qwen/Qwen3-8B", "all-linear")]
)
def test_what_peft_does_right_is_left_to_it(base: str, targets: object) -> None:
    assert explicit(base, target_modules=targets) is None


@pytest.mark.parametrize("base", ["mistralai/Mixtral-8x7B-v0.1", QWEN3])
def test_a_router_that_peft_takes_by_its_weight_is_left_to_it(base: str) -> None:
    """Its module cannot be adapted, so that nothing is named but its parameter; no other entry suffers from that."""
    assert explicit(base, target_modules=["q_proj", "gate"]) is None


def test_with_dropout_there_is_no_such_form() -> None:
    assert explicit(DEEPSEEK, target_modules=["q_proj", "shared_experts.down_proj"], lora_dropout=0.1) is None


@pytest.mark.filterwarnings("ignore")  # PEFT's and transformers' own
@pytest.mark.parametrize(
    "targets", ["all-linear", ["q_proj", "shared_experts.down_proj"], {"regex": r".*layers\.1\..*q_proj"}]
)
def test_the_prepared_model_is_the_plan(targets: object) -> None:
    torch = pytest.importorskip("torch")
    import transformers

    torch.manual_seed(0)
    config = transformers.DeepseekV2Config(
        hidden_size=64,
        intermediate_size=128,
        moe_intermediate_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_shared_experts=1,
        first_k_dense_replace=1,
        vocab_size=300,
        q_lora_rank=None,
        kv_lora_rank=16,
        qk_rope_head_dim=8,
        qk_nope_head_dim=8,
        v_head_dim=16,
    )
    model = transformers.DeepseekV2ForCausalLM(config)
    spec = LoraSpec(
        base_model="x", lora={"rank": 4, "alpha": 8, "target_modules": targets}, prepare={"dtype": "float32"}
    )
    planned = plan(spec, model)
    prepared = prepare(model, spec)
    assert prepared.trainable_parameters == planned.trainable_parameters
    assert prepared.passed
    assert set(prepared.model.targeted_module_names) == set(planned.peft["target_modules"])
