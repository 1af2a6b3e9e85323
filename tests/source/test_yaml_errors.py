import pytest

from lora_spec.source.yaml_events import FASTEST, PureLoader
from lora_spec.source.yaml_reader import read_yaml

_CASES = [
    ("a: *.q_proj\n", (1, 4), "`*.q_proj` starts with `*`, which YAML reads as an alias", "quote it: '*.q_proj'"),
    (
        "a: [*.{q,k}_proj]\n",
        (1, 5),
        "`*.{q,k}_proj` starts with `*`, which YAML reads as an alias",
        "quote it: '*.{q,k}_proj'",
    ),
    ("a: *\n", (1, 4), "`*` stands alone, which YAML reads as an alias", "quote it: '*'"),
    ("a: &.b\n", (1, 4), "`&.b` starts with `&`, which YAML reads as an anchor", "quote it: '&.b'"),
    ("a: %x y # c\n", (1, 4), "`%x y` starts with `%`, which YAML reserves", "quote it: '%x y'"),
    ("a: @x's\n", (1, 4), "`@x's` starts with `@`, which YAML reserves", "quote it: '@x''s'"),
    ("a: `x\n", (1, 4), "``x` starts with a backtick, which YAML reserves", "quote it: '`x'"),
    ("a: !x!y z\n", (1, 4), "`!x!y z` starts with `!`, which YAML reads as a tag", "quote it: '!x!y z'"),
    ("a: >=3\n", (1, 4), "`>=3` starts with `>`, which YAML reads as the start of a block of text", "quote it: '>=3'"),
    ("a:\n\tb: 1\n", (2, 1), "a tab stands in the indentation", "indent with spaces"),
    ("a:\n  b: 1\n\tc: 1\n", (3, 1), "a tab stands in the indentation", "indent with spaces"),
    ("lora:\n  rank:16\n  alpha: 32\n", (2, 3), "a space is missing after the colon of `rank:16`", "write `rank: 16`"),
    ("lora:\n  alpha: 1\n  rank:16\n", (3, 3), "a space is missing after the colon of `rank:16`", "write `rank: 16`"),
    ("rank:16\nalpha:32\ninit: x\n", (1, 1), "a space is missing after the colon of `rank:16`", "write `rank: 16`"),
    (
        "lora: rank: 16\n",
        (1, 11),
        "a second `:` stands on the line of a `key: value`",
        "put what follows on its own, deeper line; quote a text that holds `: `",
    ),
    (
        "a: 1\n  b: 2\n",
        (2, 3),
        "`b:` is indented as part of the line above, which is no mapping",
        "align it with the keys it belongs to",
    ),
    (
        "lora:\n    rank: 1\n  alpha: 2 # c\n",
        (3, 3),
        "the indentation of `alpha: 2` fits no line above",
        "align it with the lines of its level",
    ),
    (
        "a: 1\nfoo # c\nb: 1\n",
        (2, 1),
        "`foo` stands where a `key: value` is expected",
        "add `: ` and the value, or indent it under its key",
    ),
    (
        "a: - b\n",
        (1, 4),
        "a list item `-` stands on the line of its key",
        "start the list on the next line, or write `[...]`",
    ),
    ("b: 1\n- a\n", (2, 1), "a list item stands among keys", "indent it under the key it belongs to"),
    (
        "a:\n  - b\n  c: 1\n",
        (3, 3),
        "`c: 1` stands among the items of a list",
        "start it with `- `, or indent it less than the list",
    ),
    ("a: [x, y\nb: 1\n", (1, 4), "the `[` is never closed", "add the `]`"),
    ("a: {x: 1\n", (1, 4), "the `{` is never closed", "add the `}`"),
    ("a: {b: [1, 2}\n", (1, 13), "`}` closes a `[`, which ends with `]`", "write `]`"),
    (
        "a: ['x' 'y']\n",
        (1, 9),
        "a comma or `]` is missing before `'`",
        "separate items by `, `; quote a text with special characters",
    ),
    ("a: 'x\nb: 1\n", (1, 4), "the quote `'` is never closed", "add the closing `'`"),
    ('a: "x\n---\n"', (1, 4), 'the quote `"` is never closed', 'add the closing `"`'),
    (
        'a: "m\\.l"\n',
        (1, 6),
        "`\\.` is no escape that double quotes know",
        "use single quotes, which take a backslash as it is",
    ),
    ('a: "x\\ud800"\n', (1, 6), "`\\ud800` is no character", "write the character itself"),
    (
        "a: 'x' y\n",
        (1, 8),
        "nothing can follow the end of the value, but `y` does",
        "quote the whole value, or put a new key on its own line",
    ),
    ("a: ]\n", (1, 4), "`]` stands where a value is expected", "remove it, or quote the whole value"),
    (
        "%foo\na: 1\n",
        (1, 1),
        "`%foo` starts with `%`, which YAML reads as a directive",
        "remove the line, or quote it if it is a value",
    ),
]


@pytest.mark.parametrize("loader", [FASTEST, PureLoader])
@pytest.mark.parametrize(("text", "where", "message", "remedy"), _CASES, ids=[repr(case[0]) for case in _CASES])
def test_message(text, where, message, remedy, loader):
    _, (found, *_) = read_yaml(text, loader)
    assert (found.code, found.message, found.help) == ("LS001", message, remedy)
    assert (found.range.start.line, found.range.start.column) == where


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("a: *.q_proj # c\n", "'*.q_proj'"),
        ("a: [*.(q|k)_proj, b]\n", "'*.(q|k)_proj'"),
        ('a: "m\\.l"\n', "'m\\.l'"),
        ("a: @x's\n", "'@x''s'"),
    ],
)
def test_quoting_is_offered(text, edited):
    _, (found,) = read_yaml(text)
    (fix,) = found.fixes
    (edit,) = fix.edits
    assert edit.text == edited
    start, end = edit.range.start.column - 1, edit.range.end.column - 1
    assert read_yaml(text[:start] + edit.text + text[end:])[1] == []


def test_no_message_is_pyyamls():
    for text, *_ in _CASES:
        for found in read_yaml(text)[1]:
            assert "while " not in found.message
            assert "expected <" not in found.message


@pytest.mark.parametrize(("text", "where", "message", "_remedy"), _CASES, ids=[repr(case[0]) for case in _CASES])
def test_message_of_a_text_too_large_to_parse_again(text, where, message, _remedy):
    _, (found, *_) = read_yaml(text.rstrip("\n") + "\n" + "# x\n" * 20_000)
    assert (found.code, found.message) == ("LS001", message)
    assert (found.range.start.line, found.range.start.column) == where
