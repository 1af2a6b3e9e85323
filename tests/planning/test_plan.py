"""The plan as a value: counts, entries, what is left out, memory."""

import pytest

from lora_spec import LoraSpec, plan
from lora_spec.inventory.sources import Found
from lora_spec.planning.memory import Run, run_of
from lora_spec.planning.plan import make_plan

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]


def spec(base: str = "Qwen/Qwen2.5-0.5B-Instruct", targets: object = ATTENTION, **more: object) -> LoraSpec:
    return LoraSpec(base_model=base, lora={"rank": 16, "alpha": 32, "target_modules": targets}, **more)


def test_the_counts_of_a_known_model() -> None:
    made = plan(spec())
    assert (made.trainable_parameters, made.all_parameters, made.trainable_percent) == (2_162_688, 496_195_456, 0.4359)
    assert (made.model_type, made.model_class, made.model_source) == ("qwen2", "Qwen2ForCausalLM", "catalogue")
    assert (made.adapted_modules, made.adapted_parameters, made.diagnostics) == (96, 0, ())
    assert made.peft is not None
    assert made.peft["r"] == 16


def test_each_entry() -> None:
    entry = plan(spec()).entries[0]
    assert entry == ("target_modules", "q_proj", 24, "0-23", ("language",), 688_128)


def test_groups_and_what_is_left_out() -> None:
    made = plan(spec())
    assert made.groups[1][:5] == ("k_proj", (896, 128), 16, 32, 2.0)
    assert [(left.name, left.modules, left.reason) for left in made.left_out] == [
        ("gate_proj", 24, ""),
        ("up_proj", 24, ""),
        ("down_proj", 24, ""),
        ("lm_head", 1, "output head"),
    ]


def test_towers_are_told_apart() -> None:
    made = plan(spec("Qwen/Qwen2.5-VL-7B-Instruct", "all-linear"))
    assert made.entries[0].towers == ("vision", "projector", "language")
    assert {d.code for d in made.diagnostics} == {"LS220"}


def test_lora_off_trains_everything() -> None:
    made = plan(LoraSpec(base_model="tiny-qwen2"))
    assert made.trainable_parameters == made.all_parameters
    assert (made.lora, made.adapted_modules, made.memory) == (False, 0, None)


def test_without_a_structure_nothing_is_guessed() -> None:
    made = plan(spec("nobody/has-this-model"))
    assert (made.model_source, made.trainable_parameters, made.adapter_bytes, made.memory) == ("unavailable",) + (
        None,
    ) * 3
    [found] = made.diagnostics
    assert found.code == "LS017"
    assert "--online" in found.help


def test_after_a_refusal_the_rest_is_known() -> None:
    made = plan(spec(targets=["W_pack"]))
    assert (made.trainable_parameters, made.all_parameters) == (None, 494_032_768)
    assert [d.code for d in made.diagnostics] == ["LS201"]


def test_counted_parts_of_memory() -> None:
    made = plan(spec(train={"batch_size": 2, "sequence_length": 512}))
    memory = made.memory
    assert memory is not None
    assert (memory.frozen, memory.adapter, memory.gradients) == (494_032_768 * 2, 2_162_688 * 4, 2_162_688 * 4)
    assert memory.optimizer == 2_162_688 * 8
    assert memory.lower <= memory.total <= memory.upper


def test_shards_divide_the_frozen_part() -> None:
    sharded = spec(prepare={"fsdp": {"strategy": "fsdp2"}}, train={"world_size": 8})
    memory = plan(sharded).memory
    assert memory is not None
    assert memory.devices == 8
    assert 494_032_768 * 2 / 8 <= memory.frozen < 494_032_768 * 2 / 8 * 1.01
    assert memory.transient > 0


def test_four_bits() -> None:
    memory = plan(spec("meta-llama/Llama-3.1-8B", quantization={"bits": 4})).memory
    assert memory is not None
    assert 5.0e9 < memory.frozen < 6.0e9


def test_flags_win_over_the_document() -> None:
    said = spec(train={"batch_size": 2, "sequence_length": 512, "optimizer": "sgd"})
    assert run_of(said, batch_size=4, optimizer=None) == Run(1, 4, 512, "sgd")


@pytest.mark.parametrize("kind", ["deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-30B-A3B"])
def test_activations_of_experts_are_not_known_and_said_so(kind: str) -> None:
    memory = plan(spec(kind, ["o_proj"], train={"batch_size": 1, "sequence_length": 512})).memory
    assert memory is not None
    assert memory.activations is None
    assert memory.notes


def test_a_plan_without_a_tree_has_its_steps() -> None:
    made = make_plan(spec(), Found(None, "unavailable"), Run())
    assert [step.name for step in made.steps] == [
        *("build", "enable_input_require_grads", "wrap_peft", "task_type", "cast", "verify"),
    ]


def test_names_written_out_are_told_by_the_entries_of_the_file() -> None:
    targets = {"target_modules": ["q_proj", "gate_proj", "up_proj"], "layers_to_transform": [1, 2]}
    made = plan(LoraSpec(base_model="Qwen/Qwen3-30B-A3B", lora={"rank": 8, "alpha": 16, **targets}))
    assert [(e.entry, e.matched, e.layers) for e in made.entries if e.field == "target_modules"] == [
        ("q_proj", 2, "1-2"),
        ("gate_proj", 2, "1-2"),
        ("up_proj", 2, "1-2"),
    ]
