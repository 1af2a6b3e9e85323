import collections
import datetime as dt
import enum
import pathlib
import subprocess
import sys
import types

import pytest

from lora_spec.source.document import Style
from lora_spec.source.reading import read_value
from lora_spec.source.scalars import resolve_core, to_plain


class Task(str, enum.Enum):  # noqa: UP042 - as PEFT's TaskType
    CAUSAL = "CAUSAL_LM"


class Kind(enum.Enum):
    ONE = 1


def plain(value):
    document = read_value(value)
    assert document.diagnostics == ()
    return to_plain(document.root, resolve_core)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (True, True),
        (None, None),
        (0.5, 0.5),
        ("no", "no"),
        ((1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2}), [2]),
        (range(2), [0, 1]),
        (collections.deque([1]), [1]),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (Task.CAUSAL, "CAUSAL_LM"),
        (Kind.ONE, "ONE"),
        (dt.date(2024, 1, 2), "2024-01-02"),
        (types.MappingProxyType({"x": 1}), {"x": 1}),
        (collections.OrderedDict(x=[{}]), {"x": [{}]}),
    ],
)
def test_builtin(value, expected):
    assert plain({"a": value}) == {"a": expected}


def test_numpy_and_torch_scalars():
    np = pytest.importorskip("numpy")
    torch = pytest.importorskip("torch")
    assert plain({"a": np.int64(3), "b": np.float32(0.5), "c": torch.bfloat16, "d": torch.device("cpu")}) == {
        "a": 3,
        "b": 0.5,
        "c": "bfloat16",
        "d": "cpu",
    }


def test_scalars_are_values_without_places():
    document = read_value({"a": 16})
    scalar = document.root.get("a")
    assert (scalar.style, scalar.text, scalar.value, scalar.range) == (Style.VALUE, "16", 16, None)
    assert (document.format, document.path, document.text) == ("value", None, "")


@pytest.mark.parametrize(("value", "text"), [(None, "null"), (True, "true"), (-float("inf"), "-.inf"), (1e-5, "1e-05")])
def test_text_of_a_value(value, text):
    assert read_value({"a": value}).root.get("a").text == text


def test_text_of_an_integer_too_long_to_print():
    assert read_value({"a": 1 << 20_000}).root.get("a").text == hex(1 << 20_000)


def told(value):
    return [(found.code, found.message, found.document_path) for found in read_value(value).diagnostics]


def test_unreadable_objects_are_all_told():
    assert told({"a": [1, object()], "b": b"x", "c": int}) == [
        ("LS018", "`a[1]` is of type object, which no config can hold", ("a", 1)),
        ("LS018", "`b` is of type bytes, which no config can hold", ("b",)),
        ("LS018", "`c` is of type type, which no config can hold", ("c",)),
    ]


def test_object_at_the_root():
    assert [code for code, *_ in told(types.SimpleNamespace())] == ["LS018"]


def test_key_that_is_no_text():
    assert told({"a": {1: 2, "b": 3}}) == [("LS008", "the key 1 is of type int, not text", ("a",))]


def test_cycles():
    value = {"a": []}
    value["a"].append(value)
    assert told(value) == [("LS007", "the value contains itself", ("a", 0))]


def test_the_same_value_twice_is_no_cycle():
    shared = [1]
    assert plain({"a": shared, "b": shared}) == {"a": [1], "b": [1]}


def test_root_that_is_no_mapping():
    assert told([1]) == [("LS009", "the document is a list, not a mapping of keys to values", ())]


def test_omegaconf(monkeypatch):
    omegaconf = pytest.importorskip("omegaconf")
    monkeypatch.setenv("LORA_SPEC_TEST_HOME", "/home/x")
    config = omegaconf.OmegaConf.create(
        {
            "rank": 8,
            "alpha": "${rank}",
            "path": "${oc.env:LORA_SPEC_TEST_HOME}/m",
            "open": "${trainer.rank}",
            "missing": "???",
            "copy": "${targets}",
            "targets": ["q_proj", "${rank}", "${nowhere}"],
            "none": None,
        }
    )
    assert plain(config) == {
        "rank": 8,
        "alpha": 8,
        "path": "/home/x/m",
        "open": "${trainer.rank}",
        "missing": "???",
        "copy": ["q_proj", 8, "${nowhere}"],
        "targets": ["q_proj", 8, "${nowhere}"],
        "none": None,
    }


def test_omegaconf_inside_a_dict():
    omegaconf = pytest.importorskip("omegaconf")
    assert plain({"lora": omegaconf.OmegaConf.create({"r": 8})}) == {"lora": {"r": 8}}


def test_reading_imports_no_heavy_package():
    code = (
        "import sys, lora_spec.source.reading as r; r.read_value({'a': 1}); r.read_text('a: 1');"
        "print([m for m in ('pydantic', 'torch', 'omegaconf', 'numpy', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
