"""The whole document as a value."""

import copy
import pickle

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
