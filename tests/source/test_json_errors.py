import pytest

from lora_spec.source.json_reader import read_json

_CASES = [
    ('{"a": 1,}', 8, "a comma stands before the closing `}`", ""),
    ("[1, ]", 3, "a comma stands before the closing `]`", ""),
    ("{'a': 1}", 2, "JSON text stands in double quotes, not single ones", '"a"'),
    ("{a: 1}", 2, "the key `a` has no quotes", '"a"'),
    ('{"a": foo}', 7, "the text `foo` has no quotes", '"foo"'),
    ('{"a": None}', 7, "`None` is Python, not JSON", "null"),
    ('{"a": NaN}', 7, "`NaN` is not a number that JSON has", None),
    ('{"a": -Infinity}', 7, "`-Infinity` is not a number that JSON has", None),
    ('{"a": 01}', 7, "`01` is not how JSON writes a number", None),
    ('{"a": .5}', 7, "`.5` is not how JSON writes a number", None),
    ("// c\n{}", 1, "JSON has no comments", None),
    ('{"a": 1 # c\n}', 9, "JSON has no comments", None),
    ('{"a" 1}', 6, "`1` stands where `:` is expected", None),
    ('{"a": 1 "b": 2}', 9, 'a comma is missing before `"b"`', None),
    ("[1,,2]", 4, "`,` stands where a value is expected", None),
    ('{"a": [}', 8, "`}` stands where a value or `]` is expected", None),
    ("{} {}", 4, "`{` follows the end of the config", None),
    ('{"a": 1', 1, "the `{` is never closed", None),
    ('{"a": [1,', 7, "the `[` is never closed", None),
    ('{"a": "x\n"}', 7, 'the quote `"` is never closed', None),
    ('{"a": "\\q"}', 8, "`\\q` is no escape that JSON knows", None),
    ('{"a": "x\ty"}', 9, "the character U+0009 stands in a text", None),
    (
        '{"a": "\\ud800"}',
        7,
        r"the text holds a `\u` escape that is half of a surrogate pair, which is no character",
        None,
    ),
    ('{"a": ' + "1" * 5000 + "}", 7, "a number of 5,000 digits is too long to read", None),
]


@pytest.mark.parametrize(("text", "column", "message", "edit"), _CASES, ids=[case[0][:20] for case in _CASES])
def test_message(text, column, message, edit):
    root, (found,) = read_json(text)
    assert root is None
    assert (found.code, found.message, found.range.start.column) == ("LS001", message, column)
    assert [fix.edits[0].text for fix in found.fixes] == ([] if edit is None else [edit])


def test_empty():
    assert [found.code for found in read_json(" \n")[1]] == ["LS005"]
