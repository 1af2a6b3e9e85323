import datetime as dt
import math
from io import StringIO

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from lora_spec.source.document import Scalar, Style
from lora_spec.source.reading import read_text
from lora_spec.source.scalars import is_open, other_reading, resolve_core, resolve_omegaconf, resolve_yaml11, to_plain

_NUMBERLIKE = st.text(alphabet="0123456789_+-.:eExXobafinN", min_size=1, max_size=9)
_WORDS = [
    "null",
    "Null",
    "NULL",
    "~",
    "None",
    "true",
    "True",
    "TRUE",
    "tRue",
    "false",
    "yes",
    "Yes",
    "YES",
    "no",
    "NO",
    "on",
    "Off",
    "y",
    "n",
    "nan",
    ".nan",
    ".NaN",
    "inf",
    "-.inf",
    "+.INF",
    "=",
    "<<",
]
_NUMBERS = [
    "0",
    "-0",
    "012",
    "08",
    "0o17",
    "0x1F",
    "-0x1f",
    "0b101",
    "1_000",
    "1:20",
    "1:20.5",
    "190:20:30",
    "1e4",
    "1e-4",
    "2E-5",
    "1.0e-4",
    "1.e4",
    "1.e+4",
    ".5",
    "+.5",
    "-.5e-3",
    "1.",
    "._5",
    "0b_",
    "0x_",
    "1__0",
]
_SAMPLES = [*_WORDS, *_NUMBERS, "2024-01-01", "2024-1-1", "2024-01-01T10:00:00Z", "1.2.3", "-", "q_proj", "1e400", "0_"]


def plain(text):
    return Scalar(text, text, Style.PLAIN, None)


def same(ours, theirs):
    return type(ours) is type(theirs) and (ours == theirs or repr(ours) == repr(theirs) == "nan")


def _loaded(load, text):
    try:
        value = load(f"a: {text}\n")["a"]
    except (yaml.YAMLError, ValueError, IndexError):
        return text
    return text if isinstance(value, dt.date | dict | list) else value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("None", "None"),
        ("TRUE", True),
        ("no", "no"),
        ("012", 12),
        ("08", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-12", -12),
        ("-0o17", "-0o17"),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1:20", "1:20"),
        ("1e-4", 1e-4),
        ("1e4", 1e4),
        ("1.", 1.0),
        ("+.5", 0.5),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("nan", "nan"),
        ("2024-01-01", "2024-01-01"),
        ("1" * 600, "1" * 600),
    ],
)
def test_core(text, value):
    assert same(resolve_core(plain(text)), value)


def test_core_nan():
    assert math.isnan(resolve_core(plain(".nan")))


@pytest.mark.parametrize("text", _SAMPLES)
def test_samples_as_the_real_readers(text):
    assert same(resolve_yaml11(plain(text)), _loaded(yaml.safe_load, text))
    assert same(resolve_omegaconf(plain(text)), _loaded(omegaconf_load, text))


def omegaconf_load(text):
    return OmegaConf.load(StringIO(text))


@given(_NUMBERLIKE)
@example("1_0.5e+3")
def test_numberlike_text_as_the_real_readers(text):
    document = read_text(f"a: {text}\n")
    scalar = document.root.get("a") if document.root else None
    if scalar is None or document.diagnostics or not isinstance(scalar, Scalar) or scalar.text != text:
        return
    assert same(resolve_yaml11(scalar), _loaded(yaml.safe_load, text))
    assert same(resolve_omegaconf(scalar), _loaded(omegaconf_load, text))


@pytest.mark.parametrize("resolve", [resolve_core, resolve_yaml11, resolve_omegaconf])
@pytest.mark.parametrize("style", [Style.QUOTED, Style.BLOCK])
def test_quoted_is_text(style, resolve):
    assert resolve(Scalar("1", "'1'", style, None)) == "1"


@pytest.mark.parametrize("resolve", [resolve_core, resolve_yaml11, resolve_omegaconf])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 1", "1"),
        ("!!int '8'", 8),
        ("!!float 1", 1.0),
        ("!!float 1e-4", 1e-4),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!int x", "x"),
        ("!mine 1", "1"),
    ],
)
def test_tags(text, value, resolve):
    assert same(resolve(read_text(f"a: {text}").root.get("a")), value)


def test_json_and_values_have_one_reading():
    document = read_text('{"a": 1e-4, "b": "no", "c": null}')
    assert to_plain(document.root, resolve_yaml11) == {"a": 1e-4, "b": "no", "c": None}
    assert resolve_yaml11(Scalar("1e-4", "", Style.VALUE, None, value=1e-4)) == 1e-4


def test_to_plain():
    root = read_text("a: [1, {b: no}]\nc:\n").root
    assert to_plain(root, resolve_core) == {"a": [1, {"b": "no"}], "c": None}
    assert to_plain(root, resolve_yaml11) == {"a": [1, {"b": False}], "c": None}


@pytest.mark.parametrize("text", ["${rank}", "a/${oc.env:X}", "{{ rank }}", "{% if x %}", "$HOME/m", "$1", "???"])
def test_open(text):
    assert is_open(plain(text))


@pytest.mark.parametrize("text", [r".*\.q_proj$", "(q_proj$|v_proj$)", "a$)", "$", "16", "{a}", "what???"])
def test_not_open(text):
    assert not is_open(plain(text))


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("no", "false"),
        ("On", "true"),
        ("012", "10"),
        ("1_000", "1000"),
        ("1:20", "80"),
        ("0b101", "5"),
        ("1e-4", "the text '1e-4'"),
        ("0o17", "the text '0o17'"),
        ("2024-01-01", "a date"),
        ("None", "the text 'None' (null is written null)"),
        ("16", None),
        ("1.0e-4", None),
        (".nan", None),
        ("q_proj", None),
        ("", None),
    ],
)
def test_other_reading(text, reading):
    assert other_reading(plain(text)) == reading


def test_other_reading_is_for_plain_text_alone():
    assert other_reading(Scalar("no", "'no'", Style.QUOTED, None)) is None
    assert other_reading(read_text('{"a": 1e-4}').root.get("a")) is None
