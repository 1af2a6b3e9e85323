import pytest

from lora_spec.source.faults import NOT_TEXT, RULES, UNREADABLE_VALUE
from lora_spec.source.reading import read_text

_TEXT_RULES = [rule for rule in RULES if rule not in (NOT_TEXT, UNREADABLE_VALUE)]


def test_codes():
    assert [rule.code for rule in RULES] == [f"LS00{n}" for n in range(1, 10)] + ["LS018"]


@pytest.mark.parametrize("rule", _TEXT_RULES, ids=lambda rule: rule.name)
def test_bad_example_draws_its_rule_alone(rule):
    assert {found.code for found in read_text(rule.bad).diagnostics} == {rule.code}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_good_example_is_clean(rule):
    assert read_text(rule.good).diagnostics == ()
