import json

from hypothesis import example, given
from hypothesis import strategies as st

from lora_spec.source.document import Style
from lora_spec.source.json_reader import read_json
from lora_spec.source.scalars import resolve_core, resolve_yaml11, to_plain

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_SIGNS = st.sampled_from([*'{}[],:"\\ \n\t01-+.eEu/#a', "null", "true", "NaN", "\\u00e9", "\\ud83d", '"a"'])


def _refuse(constant):
    raise ValueError(constant)


def oracle(text):
    """What the standard library makes of it, or None where it, or UTF-8, refuses."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return None
    return [value]


@given(_JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_reads_what_json_writes(value, indent, ascii_):
    root, diagnostics = read_json(json.dumps(value, indent=indent, ensure_ascii=ascii_))
    assert diagnostics == []
    assert to_plain(root, resolve_core) == to_plain(root, resolve_yaml11) == value


@given(_JSON, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), _SIGNS), max_size=3))
@example([1], [(2, 0, ",")])
def test_accepts_and_refuses_as_json_does(value, changes):
    text = json.dumps(value)
    for place, cut, sign in changes:
        text = text[:place] + sign + text[place + cut :]
    expected = oracle(text)
    root, diagnostics = read_json(text)
    if expected is None:
        assert root is None
        assert [found.code for found in diagnostics[-1:]] in (["LS001"], ["LS005"])
    else:
        assert [to_plain(root, resolve_core)] == expected


def test_places():
    root, _ = read_json('{\n  "a\\n": [1e-4, "é😀x"]\n}')
    entry = root.entries[0]
    number, text = entry.value.items
    assert (entry.key.text, entry.key.raw, entry.key.range.end.column) == ("a\n", '"a\\n"', 8)
    assert (number.style, number.value, number.range.start.column) == (Style.JSON, 1e-4, 11)
    assert (text.style, text.range.start.column, text.range.end.column) == (Style.QUOTED, 17, 22)
    assert (root.range.end.line, root.range.end.column, entry.value.flow) == (3, 2, True)


def test_duplicates():
    root, diagnostics = read_json('{"a": 1,\n "a": 2}')
    assert [(found.code, found.message) for found in diagnostics] == [("LS002", "`a` is given twice, on lines 1 and 2")]
    assert to_plain(root, resolve_core) == {"a": 2}


def test_a_surrogate_pair_is_one_character():
    root, _ = read_json('["\\ud83d\\ude00"]')
    assert root.items[0].text == "😀"
