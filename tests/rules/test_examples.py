"""Each rule's own examples: the bad one is told, the good one is not."""

import pytest

from lora_spec.diagnostics import Rule
from lora_spec.pipeline import judge, parse
from lora_spec.rules import effects, launch, names, regexes, serving, training
from lora_spec.source.reading import read_text
from lora_spec.spec import faults

RULES = [
    *(r for r in faults.RULES if r is not faults.VALUE_LEFT_OPEN),  # of the commands that need the value
    *names.RULES,
    *regexes.RULES,
    *effects.RULES,
    *training.RULES,
    *launch.RULES,
    *serving.RULES,
]


def codes(example: str) -> set[str]:
    text = example if "base_model" in example else f"base_model: tiny-qwen2\n{example}"
    return {d.code for d in judge(parse(read_text(text, name="example.yaml"))).diagnostics}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_bad_and_good(rule: Rule) -> None:
    assert rule.code in codes(rule.bad)
    assert rule.code not in codes(rule.good)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_good_example_has_no_error_at_all(rule: Rule) -> None:
    text = rule.good if "base_model" in rule.good else f"base_model: tiny-qwen2\n{rule.good}"
    found = judge(parse(read_text(text, name="example.yaml"))).diagnostics
    assert not [d for d in found if d.is_error]
