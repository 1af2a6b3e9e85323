import os
import threading

import pytest

from lora_spec.source.document import Style
from lora_spec.source.reading import read_path, read_text
from lora_spec.source.scalars import resolve_core, to_plain


def codes(document):
    return [found.code for found in document.diagnostics]


def test_path_and_folder(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1\n")
    document = read_path(file)
    assert (document.path, document.folder, document.format) == (str(file), tmp_path, "yaml")
    assert to_plain(document.root, resolve_core) == {"a": 1}


def test_relative_path_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text('{"a": 1}')
    document = read_path("a.json")
    assert (document.path, str(document.folder), document.format) == ("a.json", ".", "json")


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_os_errors_propagate(tmp_path, name):
    with pytest.raises(OSError, match=r"No such file|Is a directory"):
        read_path(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "format_"),
    [
        ("x.json", '{"a": 1}', "json"),
        ("x.JSON", '{"a": 1}', "json"),
        ("x.yaml", '{"a": 1}', "yaml"),
        (None, ' \n{"a": 1}', "json"),
        (None, "{a: 1}", "yaml"),
        (None, '{"a": 1,}', "yaml"),
        ("x", "a: 1", "yaml"),
    ],
)
def test_format(name, text, format_):
    document = read_text(text, name=name)
    assert (document.format, to_plain(document.root, resolve_core)) == (format_, {"a": 1})


def test_json_file_that_is_yaml_is_a_fault():
    assert codes(read_text("a: 1", name="x.json")) == ["LS001"]


def test_folder_is_that_of_the_name(tmp_path):
    assert read_text("a: 1", name=str(tmp_path / "x.yaml")).folder == tmp_path
    assert read_text("a: 1", folder=tmp_path).folder == tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "the document is a list, not a mapping of keys to values"),
        ("foo\n", "the document is one text, not a mapping of keys to values"),
    ],
)
def test_root_that_is_no_mapping(text, message):
    document = read_text(text)
    assert document.root is None
    assert [(found.code, found.message) for found in document.diagnostics] == [("LS009", message)]


def test_one_line_without_the_space():
    (found,) = read_text("rank:16\n").diagnostics
    assert (found.code, found.message) == ("LS001", "a space is missing after the colon of `rank:16`")
    assert found.fixes[0].edits[0].text == " "


def test_diagnostics_in_the_order_of_the_text():
    document = read_text("a: *x\nb: *.y\nb: 1\n")
    assert codes(document) == ["LS007", "LS001", "LS002"]


def test_fifo_without_a_writer_is_empty(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert codes(read_path(tmp_path / "pipe")) == ["LS005"]


def test_fifo_with_a_slow_writer_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keep = os.open(pipe, os.O_RDWR)

    def write():
        os.write(keep, b"a: 1\n")
        os.close(keep)

    writer = threading.Timer(0.2, write)
    writer.start()
    document = read_path(pipe)
    writer.join()
    assert to_plain(document.root, resolve_core) == {"a": 1}


def test_fifo_that_stays_silent_times_out(tmp_path, monkeypatch):
    monkeypatch.setattr("lora_spec.source.reading._PIPE_WAIT_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    keep = os.open(tmp_path / "pipe", os.O_RDWR)
    with pytest.raises(TimeoutError):
        read_path(tmp_path / "pipe")
    os.close(keep)


def test_endless_device_is_too_large():
    assert codes(read_path("/dev/zero")) == ["LS003"]


def test_json_scalars_have_one_reading():
    document = read_text('{"a": 1e-4}')
    assert document.root.get("a").style is Style.JSON
