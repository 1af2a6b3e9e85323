"""The whole document as a value."""

import collections
import copy
import enum
import pickle
from fractions import Fraction
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lora_spec import LoraSpec, SpecError

LORA = {"rank": 8, "alpha": 16, "target_modules": ["q_proj"]}


def test_lists_sets_and_dicts_are_taken_as_they_come() -> None:
    spec = LoraSpec(base_model="a", lora={**LORA, "target_modules": {"v_proj", "q_proj"}, "layers_to_transform": 3})
    assert spec.lora is not None
    assert spec.lora.target_modules == ("q_proj", "v_proj")
    assert spec.lora.layers_to_transform == (3,)


def test_a_spec_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        LoraSpec(base_model="a").base_model = "b"  # type: ignore[misc]


def test_null_is_as_good_as_absent() -> None:
    spec = LoraSpec(base_model="a", lora={**LORA, "dropout": None, "bias": None, "init": None}, prepare=None)
    assert spec == LoraSpec(base_model="a", lora=LORA)


def test_notes_for_people_and_editors_are_left_out() -> None:
    assert LoraSpec(**{"base_model": "a", "$schema": "s", "x-note": [1]}) == LoraSpec(base_model="a")


@pytest.mark.parametrize(
    ("lora", "on"),
    [
        (None, False),
        ({"rank": 0}, False),
        ({"rank": 0, "alpha": 16, "target_modules": "all-linear"}, False),
        (LORA, True),
        ({"adapter_path": "./a"}, True),
    ],
)
def test_lora_on(lora: object, on: bool) -> None:
    assert LoraSpec(base_model="a", lora=lora).lora_on is on


def test_every_fault_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        LoraSpec(
            lora={"rank": "8", "alpha": 0, "dropuot": 0.1, "use_dora": True, "kasa_config": {}}, prepare={"dtype": 4}
        )
    places = [(d.code, d.document_path) for d in caught.value.diagnostics]
    assert sorted(places, key=str) == [
        ("LS011", ("lora", "dropuot")),
        ("LS012", ("base_model",)),
        ("LS013", ("lora", "rank")),
        ("LS014", ("prepare", "dtype")),
        ("LS101", ("lora", "alpha")),
        ("LS106", ("lora", "kasa_config")),
    ]


def test_one_misspelling_is_one_message() -> None:
    with pytest.raises(SpecError) as caught:
        LoraSpec(base_model="a", lora={"rank": 8, "alhpa": 16})
    assert [d.code for d in caught.value.diagnostics] == ["LS011"]


def test_an_error_says_where_what_and_the_remedy() -> None:
    with pytest.raises(SpecError, match=r'LS013 lora\.rank: rank must be a whole number, not the text "8" \(write 8\)'):
        LoraSpec(base_model="a", lora={**LORA, "rank": "8"})


def test_an_error_survives_pickling() -> None:
    with pytest.raises(SpecError) as caught:
        LoraSpec(base_model="a", lora={**LORA, "rank": "8"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics


def test_a_spec_survives_pickling_and_copying() -> None:
    spec = LoraSpec(base_model="a", lora={**LORA, "rank_pattern": {"q_proj": 4}})
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec


NAMES = st.lists(st.sampled_from(["q_proj", "k_proj", "v_proj", "lm_head"]), min_size=1, unique=True)
INITS = st.sampled_from(
    ["default", "gaussian", "pissa", True, {"kind": "pissa", "niter": 4}, {"kind": "eva", "rho": 1.0}]
)
NEW_ADAPTERS = st.fixed_dictionaries(
    {"rank": st.integers(1, 512), "alpha": st.floats(0.01, 1e4)},
    optional={
        "target_modules": NAMES | st.just("all-linear") | st.just({"regex": ".*q_proj"}),
        "exclude_modules": NAMES,
        "dropout": st.floats(0, 0.99),
        "bias": st.sampled_from(["none", "all", "lora_only"]),
        "use_rslora": st.booleans(),
        "init": INITS,
        "rank_pattern": st.dictionaries(st.sampled_from(["q_proj", ".*mlp.*"]), st.integers(1, 64)),
        "trainable_token_indices": st.lists(st.integers(0, 99), unique=True),
    },
)
SPECS = st.builds(
    dict,
    base_model=st.just("tiny-qwen2"),
    lora=st.none() | NEW_ADAPTERS | st.just({"rank": 0}) | st.just({"adapter_path": "./a"}),
    prepare=st.fixed_dictionaries(
        {}, optional={"dtype": st.sampled_from(["bfloat16", "auto"]), "seed": st.integers(0, 9)}
    ),
)


@given(SPECS)
def test_a_dumped_spec_reads_back_the_same(values: dict[str, object]) -> None:
    spec = LoraSpec(**values)
    assert LoraSpec(**spec.model_dump()) == spec
    assert LoraSpec(**spec.model_dump(mode="json")) == spec


class Width(enum.IntEnum):
    SMALL = 8


@pytest.mark.parametrize(
    ("setting", "value", "plain"),
    [
        ("rank", Width.SMALL, 8),
        ("rank", Fraction(8, 1), 8.0),
        ("target_modules", collections.deque(["q_proj"]), ["q_proj"]),
        ("target_modules", {"q_proj": 1}.keys(), ["q_proj"]),
        ("layers_to_transform", range(2), [0, 1]),
        ("megatron_config", MappingProxyType({"tp": (1, 2)}), {"tp": [1, 2]}),
        ("megatron_config", {"a": object()}, None),
        ("rank_pattern", {1: 2}, {1: 2}),
        ("target_modules", {"q_proj", 1, None}, ["q_proj", 1, None]),
        pytest.param("alpha", 10**5000, 10**5000, id="huge"),
        ("rank", 10**30, 10**30),
    ],
)
def test_python_values_are_taken_for_what_they_hold_or_refused_once(setting: str, value: object, plain: object) -> None:
    """What is refused is refused as a document with the plain value would be, and never with a crash."""

    def made(given: object) -> object:
        try:
            return LoraSpec(base_model="a", lora={**LORA, setting: given})
        except SpecError as error:
            return sorted(d.code for d in error.diagnostics if d.is_error)

    assert made(value) == made(plain) or (plain is None and len(made(value)) == 1)
    assert not isinstance(made(value), list) or "<" not in str(made(value))


@pytest.mark.parametrize("pattern", ["(" * 3000 + ")" * 3000, "a{9999999999999}", "(", "*q_proj"])
def test_a_regex_that_python_cannot_compile_is_one_fault(pattern: str) -> None:
    with pytest.raises(SpecError) as caught:
        LoraSpec(base_model="a", lora={**LORA, "target_modules": {"regex": pattern}})
    assert [d.code for d in caught.value.diagnostics if d.is_error] == ["LS015"]


def test_a_regex_that_a_later_python_may_read_otherwise_is_taken() -> None:
    LoraSpec(base_model="a", lora={**LORA, "target_modules": {"regex": ".*[[a]_proj"}})


def test_a_value_that_is_left_open_is_named() -> None:
    with pytest.raises(SpecError, match="rank is left open"):
        LoraSpec.from_any({"base_model": "a", "lora": {**LORA, "rank": "${RANK}"}})
