import pytest

from lora_spec.diagnostics import Position
from lora_spec.source.places import Places


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_an_editor(end):
    text = f"ab{end}cd"
    assert Places(text).position(text.index("d")) == Position(2, 2)


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029", "\x0b", "\x0c"])
def test_other_separators_end_no_line(char):
    assert Places(f"a{char}b").position(2) == Position(1, 3)


def test_an_emoji_is_one_column():
    assert Places("😀é: 1").position(4) == Position(1, 5)


def test_range_over_lines():
    place = Places("ab\ncd\n").range(1, 5)
    assert (place.start, place.end) == (Position(1, 2), Position(2, 3))


def test_offset_is_the_inverse():
    places = Places("ab\r\ncd\r\n")
    assert [places.offset(places.position(n)) for n in (0, 1, 4, 5, 8)] == [0, 1, 4, 5, 8]


def test_line():
    assert Places("ab\r\ncd\n").line(5) == "cd"
