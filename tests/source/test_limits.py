import time
import tracemalloc

import pytest

from lora_spec.source.limits import MAX_BYTES, MAX_DEPTH, MAX_KEY, MAX_NODES
from lora_spec.source.reading import read_path, read_text, read_value
from lora_spec.source.yaml_events import FASTEST, PureLoader
from lora_spec.source.yaml_reader import read_yaml

_ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
_DEEP = {
    "flow list": "[" * 10_000,
    "flow list, a line each": "[\n" * 10_000,
    "flow mapping": "{a: " * 10_000,
    "block list": "- " * 10_000,
    "block mapping": "\n".join(" " * n + "a:" for n in range(1_400)),
    "complex keys": "? " * 10_000,
    "closed": "a: " + "[" * 10_000 + "]" * 10_000,
}
_TOO_DEEP = f"the document is nested more than {MAX_DEPTH} levels deep"


def told(diagnostics):
    return [(found.code, found.message) for found in diagnostics]


@pytest.fixture
def within_a_second():
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < 1


@pytest.mark.usefixtures("within_a_second")
def test_sparse_file_of_100_mb(tmp_path):
    file = tmp_path / "weights.yaml"
    with file.open("wb") as out:
        out.truncate(100_000_000)
    tracemalloc.start()
    document = read_path(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    message = "the document is 100,000,000 bytes large, over the 1,048,576 bytes (1 MiB) that a config may have"
    assert told(document.diagnostics) == [("LS003", message)]
    assert peak < 1_000_000


@pytest.mark.parametrize("kind", [str, bytes])
def test_size(kind):
    def text(size):
        content = "a: 1\n#".ljust(size, "é")
        content = content.encode()[:size] if kind is bytes else content[: size // 2]
        return read_text(content.rstrip(b"\xc3") if kind is bytes else content)

    assert text(MAX_BYTES).diagnostics == ()
    assert [found.code for found in text(MAX_BYTES + 100).diagnostics] == ["LS003"]


@pytest.mark.usefixtures("within_a_second")
@pytest.mark.parametrize("loader", [FASTEST, PureLoader])
@pytest.mark.parametrize("text", _DEEP.values(), ids=_DEEP)
def test_deep_yaml(text, loader):
    root, diagnostics = read_yaml(text, loader)
    assert root is None
    assert told(diagnostics) == [("LS003", _TOO_DEEP)]


@pytest.mark.usefixtures("within_a_second")
@pytest.mark.parametrize("text", ["[" * 10_000, '{"a":' * 10_000])
def test_deep_json(text):
    document = read_text(text, name="x.json")
    assert told(document.diagnostics) == [("LS003", _TOO_DEEP)]


def test_depth_is_inclusive():
    def codes(depth):
        return [found.code for found in read_text("a: " + "[" * (depth - 1) + "]" * (depth - 1)).diagnostics]

    assert codes(MAX_DEPTH) == []
    assert codes(MAX_DEPTH + 1) == ["LS003"]


def test_depth_counts_through_aliases():
    half = "a: &a " + "[" * 40 + "]" * 40 + "\n"
    assert read_text(half + "b: " + "[" * 23 + "*a" + "]" * 23).diagnostics == ()
    (found,) = read_text(half + "b: " + "[" * 24 + "*a" + "]" * 24).diagnostics
    assert found.message == _TOO_DEEP


@pytest.mark.usefixtures("within_a_second")
@pytest.mark.parametrize("loader", [FASTEST, PureLoader])
def test_alias_bomb(loader):
    root, diagnostics = read_yaml(_ALIAS_BOMB, loader)
    assert root is None
    message = "the document has more than 20,000 values, what aliases repeat included"
    assert told(diagnostics) == [("LS003", message)]


@pytest.mark.usefixtures("within_a_second")
def test_merge_bomb():
    lines = ["a0: &a0 {k: 1}"] + [f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    assert [found.code for found in read_text("\n".join(lines)).diagnostics] == ["LS003"]


def test_node_count_is_inclusive():
    def codes(items):
        return [found.code for found in read_text("a: [" + "x," * items + "]").diagnostics]

    assert codes(MAX_NODES - 2) == []
    assert codes(MAX_NODES - 1) == ["LS003"]


def test_key_length():
    assert read_text("k" * MAX_KEY + ": 1").diagnostics == ()
    (found,) = read_text("k" * (MAX_KEY + 1) + ": 1").diagnostics
    assert (found.code, found.message) == ("LS003", f"the key `{'k' * 20}...` has 257 characters, more than 256")


@pytest.mark.usefixtures("within_a_second")
def test_value_limits():
    deep = []
    for _ in range(10_000):
        deep = [deep]
    assert told(read_value({"a": deep}).diagnostics) == [("LS003", _TOO_DEEP)]
    assert [found.code for found in read_value({"a": list(range(30_000))}).diagnostics] == ["LS003"]


@pytest.mark.usefixtures("within_a_second")
def test_many_duplicates_and_long_texts_are_linear():
    assert len(read_text("a: 1\n" * 5_000).diagnostics) == 4_999
    assert read_text("a: " + "x" * 1_000_000).diagnostics == ()
    assert [found.code for found in read_text('{"a": "' + "x" * 1_000_000, name="x.json").diagnostics] == ["LS001"]
