"""Each rule's own examples: the bad one is told, the good one is not."""

import pytest

from lora_spec.diagnostics import Diagnostic, Rule
from lora_spec.pipeline import check, judge, look_up, parse
from lora_spec.rules import (
    cannot_adapt,
    dead_entries,
    dead_patterns,
    effects,
    launch,
    misapplied,
    names,
    quantized,
    regexes,
    scales,
    seldom_wanted,
    serving,
    targets,
    training,
)
from lora_spec.source.reading import read_text
from lora_spec.spec import faults

RULES = [
    *(r for r in faults.RULES if r is not faults.VALUE_LEFT_OPEN),  # of the commands that need the value
    *names.RULES,
    *regexes.RULES,
    *effects.RULES,
    *training.RULES,
    *scales.RULES,
    *quantized.RULES,
    *launch.RULES,
    *serving.RULES,
    *targets.RULES,
    *dead_entries.RULES,
    *dead_patterns.RULES,
    *cannot_adapt.RULES,
    *(r for r in misapplied.RULES if r is not misapplied.LAYERS_MISS_EXPERTS),  # of LoraConfig objects, below
    *seldom_wanted.RULES,
]


def judged(example: str) -> tuple[Diagnostic, ...]:
    text = example if "base_model" in example or "model:" in example else f"base_model: tiny-qwen2\n{example}"
    parsed = parse(read_text(text, name="example.yaml"))
    return judge(parsed, look_up(parsed)).diagnostics


def codes(example: str) -> set[str]:
    return {d.code for d in judged(example)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_bad_and_good(rule: Rule) -> None:
    assert rule.code in codes(rule.bad)
    assert rule.code not in codes(rule.good)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_good_example_has_no_error_at_all(rule: Rule) -> None:
    assert not [d for d in judged(rule.good) if d.is_error]


def test_layers_miss_experts_for_people_who_call_peft_themselves() -> None:
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(target_modules=["q_proj", "gate_proj", "up_proj"], layers_to_transform=[0, 1])
    assert [d.code for d in check(config, "Qwen/Qwen3-30B-A3B") if d.is_error] == ["LS214"]
