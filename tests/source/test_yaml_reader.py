import pytest

from lora_spec.source.document import Style, walk
from lora_spec.source.reading import read_text
from lora_spec.source.yaml_events import FASTEST, PureLoader
from lora_spec.source.yaml_reader import read_yaml

_DOCUMENTS = [
    "a:\t1\nb:\t# comment\n  c: 2\n",
    '{\n\t"a": [1,\t2,\n\t\t3],\n\t"b":\t{"c": null}\n}\n',
    "a: x\ty\nb: x\n  \ty\n",
    "a: 1\r\nb:\r\n  - é\r\n  - 😀 # 😀\r\n",
    "a: 1\rb: 2\r",
    "# c\n\na: &x !!str foo # d\nb: *x\nc: &y # e\n  d: 1\ne: *y\n&k f: &l\n- 1\n- *l\n",
    "a: |\n  x\n\n  # y\n\n# z\nb: >-\n  x\n  y\nc: |+\n  z\n\n",
    "a: [1, {b: c}, [d, e]] # f\ng: {h: [i], j: , k}\n",
    "a:\nb:\n- c:\n  d:\n-\n",
    "? a\n: b\n? [c]\n: d\n",
    "a: 'x''y'\nb: \"x\\ty\\\n  z\"\nc: 'x\n\n  y'\n",
    "a: x\x85 y\nb: 'x\u2028y'\nc: 1\n",
    "%YAML 1.1\n---\na: 1\n...\n",
    "a: 1\n---\nb: 2\n",
    "{a:[1], b:{c: 1}}\n",
    'a: "\\ud83d\\ude00"\n',
    'a: "\\U00110000"\n',
    "a: 1\na: 2\n<<: 3\n*x : 4\n",
    "a: !!set {x, y}\nb: !mine z\nc: !!int\nd: !!seq [1]\ne: !<tag:yaml.org,2002:str> 1\n",
    "",
    "# only\n",
    "---\n",
    "a: &x [*x]\n",
]


def place(node):
    return (node.range.start.line, node.range.start.column, node.range.end.line, node.range.end.column)


@pytest.mark.parametrize("text", _DOCUMENTS)
def test_both_loaders_read_the_same(text):
    assert read_yaml(text, FASTEST) == read_yaml(text, PureLoader)


@pytest.mark.parametrize("loader", [FASTEST, PureLoader])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\n", (1, 4, 1, 5)),
        ("a:\n", (1, 3, 1, 3)),
        ("a: # c\n\nb: 1\n", (1, 3, 1, 3)),
        ("a: &x 1 # c\n", (1, 7, 1, 8)),
        ("a: !!str 1\n", (1, 10, 1, 11)),
        ("a: &x !!str # c\n  1\n", (2, 3, 2, 4)),
        ("a: &x\n", (1, 6, 1, 6)),
        ("a: &x [1, 2] # c\n", (1, 7, 1, 13)),
        ("a: &x\n  b: 1\n  c: 2 # d\n\n# e\nf: 1\n", (2, 3, 3, 7)),
        ("a: &x\n- b\n- c\n# d\n", (2, 1, 3, 4)),
        ("a: !!seq\n  - b\n", (2, 3, 2, 6)),
        ("a:\n  - b\n  - - c\n\n", (2, 3, 3, 8)),
        ("a: |\n  x\n  y\n\n\nb: 1\n", (1, 4, 3, 4)),
        ("a: |\n", (1, 4, 1, 5)),
        ("a: >-\n  x\n# c\n", (1, 4, 2, 4)),
        ("a: x\n  y\n", (1, 4, 2, 4)),
        ("a: 'x'\n", (1, 4, 1, 7)),
        ("{a: , b: 1}\n", (1, 4, 1, 4)),
    ],
)
def test_value_ranges(text, value, loader):
    root, _ = read_yaml(text, loader)
    assert place(root.entries[0].value) == value


def test_columns_count_characters():
    root, _ = read_yaml("'é😀': x\n")
    assert (place(root.entries[0].key), place(root.entries[0].value)) == ((1, 1, 1, 5), (1, 7, 1, 8))


@pytest.mark.parametrize(
    ("text", "style", "content", "raw"),
    [
        ("a: x y # c", Style.PLAIN, "x y", "x y"),
        ("a: 'x''y'", Style.QUOTED, "x'y", "'x''y'"),
        ('a: "x\\ty"', Style.QUOTED, "x\ty", '"x\\ty"'),
        ("a: |\n  x\n\nb: 1", Style.BLOCK, "x\n", "|\n  x"),
        ("a: &b !!int 1", Style.PLAIN, "1", "1"),
        ("a:", Style.PLAIN, "", ""),
    ],
)
def test_scalars(text, style, content, raw):
    scalar = read_text(text).root.get("a")
    assert (scalar.style, scalar.text, scalar.raw) == (style, content, raw)


@pytest.mark.parametrize(("written", "tag"), [("!!int 1", "!!int"), ("! 1", "!"), ("!m 1", "!m"), ("1", None)])
def test_tags(written, tag):
    assert read_text(f"a: {written}").root.get("a").tag == tag


@pytest.mark.parametrize(("key", "text"), [("1", "1"), ("null", "null"), ("~", "~"), ("no", "no"), ("'a b'", "a b")])
def test_keys_stay_as_written(key, text):
    assert read_text(f"{key}: x").root.keys() == (text,)


def test_alias_is_named_and_keeps_the_place_of_its_origin():
    document = read_text("a: &x {b: 1}\nc: *x\n")
    entry = document.root.entry("c")
    assert (entry.alias, entry.value) == ("x", document.root.get("a"))
    assert document.value_range(("c",)) == entry.key.range


def test_alias_as_a_key_stands_where_it_is_written():
    document = read_text("a: &x name\n*x : 1\n")
    key = document.root.entry("name").key
    assert (key.raw, place(key)) == ("*x", (2, 1, 2, 3))


@pytest.mark.parametrize(
    ("text", "code", "message", "where"),
    [
        ("a: 1\nb: 2\na: 3\n", "LS002", "`a` is given twice, on lines 1 and 3", (3, 1)),
        ("{a: 1, 'a': 2}", "LS002", "`a` is given twice on line 1", (1, 8)),
        (
            "a: 1\n--- # x\nb: 1\n",
            "LS006",
            "a second document starts here, and a config is one document per file",
            (2, 1),
        ),
        ("a: *q_proj\n", "LS007", "`*q_proj` repeats the value marked `&q_proj`, and nothing is marked so", (1, 4)),
        ("a: &x 1\nb: &x 2\n", "LS007", "the anchor `&x` is set twice", (2, 4)),
        (
            "a: &x [*x]\n",
            "LS007",
            "`*x` stands inside the value that `&x` marks, so it would repeat itself without end",
            (1, 8),
        ),
        ("a: {{x}}\n", "LS008", "a mapping stands where a key is expected", (1, 5)),
        ("? [a]\n: 1\nb: 1\n", "LS008", "a list stands where a key is expected", (1, 3)),
        ("a: !inc b\n", "LS001", "the tag `!inc` is none that a trainer's YAML reader knows", (1, 4)),
        ("a: !!set {b}\n", "LS001", "the tag `!!set` is none that a trainer's YAML reader knows", (1, 4)),
        ("a: \x07\n", "LS001", "the character U+0007 is not allowed in YAML", (1, 4)),
    ],
)
def test_faults_that_leave_a_tree_or_not(text, code, message, where):
    (found,) = read_text(text).diagnostics
    assert (found.code, found.message) == (code, message)
    assert (found.range.start.line, found.range.start.column) == where


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n", "---\n", "---\n# x\n...\n"])
def test_empty(text):
    document = read_text(text)
    assert [(found.code, found.message) for found in document.diagnostics] == [("LS005", "the document is empty")]


def test_last_of_equal_keys_is_kept():
    document = read_text("a: 1\nb: 2\na: 3\n")
    assert [(entry.key.text, entry.value.text) for entry in document.root.entries] == [("b", "2"), ("a", "3")]


def test_three_equal_keys_are_two_duplicates():
    found = read_text("x:\n  a: 1\n  a: 2\n  a: 3\n").diagnostics
    assert [(d.document_path, d.message) for d in found] == [
        (("x", "a"), "`a` is given twice, on lines 2 and 3"),
        (("x", "a"), "`a` is given twice, on lines 3 and 4"),
    ]


def test_paths_of_faults():
    document = read_text("a:\n- b: 1\n- c: {d: *x, d: 1}\n")
    assert [found.document_path for found in document.diagnostics] == [("a", 1, "c", "d"), ("a", 1, "c", "d")]


def test_undefined_alias_is_read_as_the_text():
    document = read_text("a: *q_proj\n")
    assert document.root.get("a").text == "*q_proj"
    assert document.diagnostics[0].fixes[0].edits[0].text == "'*q_proj'"


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("# one\n#two  \n\na: 1\n# three\n", ("one", "two")),
        ("---\n# yaml-language-server: $schema=x\r\na: 1\n", ("yaml-language-server: $schema=x",)),
        ("%YAML 1.1\n# x\n---\n  # y\na: 1\n", ("x", "y")),
        ("a: 1 # x\n", ()),
        ("# only", ("only",)),
        ("# c\na: [", ("c",)),
    ],
)
def test_comments(text, comments):
    assert read_text(text).comments == comments


def test_every_raw_is_its_slice_of_the_text():
    text = _DOCUMENTS[5]
    root, _ = read_yaml(text)
    lines = text.split("\n")
    for _, node in walk(root):
        if node.range.start.line == node.range.end.line and hasattr(node, "raw"):
            line = lines[node.range.start.line - 1]
            assert node.raw == line[node.range.start.column - 1 : node.range.end.column - 1]
