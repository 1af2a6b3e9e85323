import pytest

from lora_spec.source.reading import read_text
from lora_spec.source.scalars import resolve_core, to_plain


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding):
    document = read_text("a: é😀\n".encode(encoding))
    assert to_plain(document.root, resolve_core) == {"a": "é😀"}


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
@pytest.mark.parametrize("text", ['\ufeff{"a": 1}', '\ufeff{"a": 1}'.encode()])
def test_a_byte_order_mark_is_no_column(text, name):
    document = read_text(text, name=name)
    assert document.key_range(("a",)).start.column == 2
    assert document.text == '{"a": 1}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x02\x8a\n\x00l\xfc", "the file is not UTF-8 text: byte 1 cannot be decoded"),
        (b"a: caf\xe9\n", "the file is not UTF-8 text: byte 7 cannot be decoded"),
        (b"a: 1\x00\n", "the file is not text: it holds NUL bytes"),
        ("a: \ud800\n", "the text holds half of a surrogate pair, which is no character"),
    ],
)
def test_what_is_no_text(data, message):
    document = read_text(data)
    assert document.root is None
    assert [(found.code, found.message) for found in document.diagnostics] == [("LS004", message)]
