from lora_spec.source.document import walk
from lora_spec.source.reading import read_text

_DOCUMENT = read_text("a:\n  b: [x, {c: 1}]\nd:\n")


def test_node():
    assert _DOCUMENT.node(("a", "b", 1, "c")).text == "1"
    assert _DOCUMENT.node(()) is _DOCUMENT.root
    for path in [("x",), ("a", "b", 9), ("a", 0), ("a", "b", "c"), ("d", "e")]:
        assert _DOCUMENT.node(path) is None


def test_ranges():
    assert _DOCUMENT.key_range(("a", "b")).start.column == 3
    assert _DOCUMENT.value_range(("a", "b")).start.column == 6
    assert _DOCUMENT.key_range(("a", "b", 0)).start.column == 7
    assert _DOCUMENT.key_range(()) == _DOCUMENT.root.entries[0].key.range
    assert _DOCUMENT.value_range(("d",)) == _DOCUMENT.key_range(("d",))


def test_walk():
    paths = [path for path, _ in walk(_DOCUMENT.root)]
    assert paths == [(), ("a",), ("a", "b"), ("a", "b", 0), ("a", "b", 1), ("a", "b", 1, "c"), ("d",)]


def test_values_are_equal_and_hashable():
    again = read_text("a:\n  b: [x, {c: 1}]\nd:\n")
    assert again == _DOCUMENT
    assert hash(again.root) == hash(_DOCUMENT.root)
