from lora_spec.source.document import Style
from lora_spec.source.reading import read_text
from lora_spec.source.scalars import resolve_core, to_plain

_GLOBS = 'a: [*.q_proj, *.k_proj]\nb: @x y # c\nc: "m\\.l"\n*.q: 1\nd: 2\nd: 3\n'


def test_every_missing_quote_is_told_and_the_rest_is_read():
    document = read_text(_GLOBS)
    assert [(found.code, found.range.start.line) for found in document.diagnostics] == [
        ("LS001", 1),
        ("LS001", 1),
        ("LS001", 2),
        ("LS001", 3),
        ("LS001", 4),
        ("LS002", 6),
    ]
    expected = {"a": ["*.q_proj", "*.k_proj"], "b": "@x y", "c": "m\\.l", "*.q": 1, "d": 3}
    assert to_plain(document.root, resolve_core) == expected


def test_repaired_scalars_count_as_quoted_and_keep_what_is_written():
    scalar = read_text("a: *.q\n").root.get("a")
    assert (scalar.style, scalar.raw) == (Style.QUOTED, "*.q")


def test_repairs_end():
    document = read_text("a: [" + "*.q, " * 100 + "]")
    assert document.root is None
    assert 32 < len(document.diagnostics) < 100


def test_another_error_after_repairs_ends_reading():
    document = read_text("a: *.q\nb: [\n")
    assert document.root is None
    assert len(document.diagnostics) == 2
