import pytest
import yaml

from lora_spec.source.yaml_events import UNPRINTABLE, PureLoader, events, span
from lora_spec.source.yaml_reader import read_yaml


@pytest.mark.parametrize("text", ["a:\tb\n", "a: b\tc\n", "{\n\ta: 1\n}\n"])
def test_pure_loader_takes_the_tabs_that_the_c_loader_takes(text):
    def values(loader):
        return [event.value for event in events(text, loader) if isinstance(event, yaml.ScalarEvent)]

    assert values(PureLoader) == values(yaml.CSafeLoader)


def test_pure_loader_refuses_tabs_that_indent():
    with pytest.raises(yaml.YAMLError):
        list(events("a:\n\tb: 1\n", PureLoader))


def test_what_only_the_pure_loader_takes_is_read_as_safe_load_reads_it():
    with pytest.raises(yaml.YAMLError):
        list(events("{a:[1]}", yaml.CSafeLoader))
    root, diagnostics = read_yaml("{a:[1]}")
    assert (root.keys(), diagnostics) == (("a",), [])


def test_span():
    assert [span(event) for event in events("ab: c") if isinstance(event, yaml.ScalarEvent)] == [(0, 2), (4, 5)]


@pytest.mark.parametrize(
    ("text", "refused"), [("a\x07", True), ("a\x7f", True), ("\ufeffa", True), ("é😀\x85\t\r\n", False)]
)
def test_unprintable(text, refused):
    assert bool(UNPRINTABLE.search(text)) is refused
