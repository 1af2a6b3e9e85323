import pytest

from lora_spec.source.reading import read_text
from lora_spec.source.scalars import resolve_core, to_plain

_TWO = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c:\n  <<: *a\n", {"x": 1, "y": 2}),
        ("c:\n  <<: *a\n  y: 9\n", {"x": 1, "y": 9}),
        ("c:\n  y: 9\n  <<: *a\n", {"x": 1, "y": 9}),
        ("c:\n  <<: [*a, *b]\n", {"x": 1, "y": 2, "z": 4}),
        ("c:\n  <<: [*b, *a]\n", {"x": 1, "y": 3, "z": 4}),
        ("c:\n  <<: *a\n  <<: *b\n", {"x": 1, "y": 2, "z": 4}),
        ("c:\n  <<: {x: 5}\n", {"x": 5}),
        ("c:\n  <<: []\n", {}),
        ("c:\n  '<<': 1\n", {"<<": 1}),
    ],
)
def test_merge(text, expected):
    document = read_text(_TWO + text)
    assert document.diagnostics == ()
    assert to_plain(document.root.get("c"), resolve_core) == expected


def test_merged_mappings_merge_on():
    document = read_text("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n")
    assert to_plain(document.root.get("c"), resolve_core) == {"x": 1, "y": 2}


def test_what_is_merged_keeps_its_place_and_comes_where_the_merge_stands():
    document = read_text("a: &a {x: 1}\nc:\n  k: 0\n  <<: *a\n")
    assert document.root.get("c").keys() == ("k", "x")
    assert document.value_range(("c", "x")).start.line == 1


@pytest.mark.parametrize("value", ["1", "", "[*a, 1]", "[[*a]]"])
def test_what_cannot_be_merged(value):
    (found,) = read_text(f"{_TWO}c:\n  <<: {value}\n").diagnostics
    assert (found.code, found.message) == ("LS007", "`<<` copies keys from a mapping, and its value is none")
    assert (found.document_path, found.range.start.line) == (("c",), 4)


def test_merge_of_an_undefined_alias_is_told_once():
    assert [found.message for found in read_text("c: {<<: *d}").diagnostics] == [
        "`*d` repeats the value marked `&d`, and nothing is marked so"
    ]


def test_merge_of_itself():
    (found,) = read_text("a: &a\n  <<: *a\n").diagnostics
    assert found.code == "LS007"


def test_json_has_no_merge():
    assert to_plain(read_text('{"<<": {"a": 1}}').root, resolve_core) == {"<<": {"a": 1}}
