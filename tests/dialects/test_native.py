"""The native document as a file."""

from pathlib import Path

import pytest

from lora_spec import LoraSpec
from lora_spec.dialects import native
from lora_spec.pipeline import check, read
from lora_spec.source.reading import read_text

TEXT = "base_model: ./base\nlora: {adapter_path: ./adapter}\n"


def test_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    tmp_path.joinpath("base").mkdir()
    tmp_path.joinpath("adapter").mkdir()
    file = tmp_path / "lora.yaml"
    file.write_text(TEXT)
    spec = LoraSpec.from_file(file)
    assert spec.base_model == str(tmp_path / "base")
    assert spec.lora is not None
    assert spec.lora.adapter_path == str(tmp_path / "adapter")


def test_a_path_that_this_machine_lacks_stays_as_written(tmp_path: Path) -> None:
    file = tmp_path / "lora.yaml"
    file.write_text(TEXT)
    spec = LoraSpec.from_file(file)
    assert spec.base_model == "./base"


def test_a_path_that_this_machine_lacks_is_one_info(tmp_path: Path) -> None:
    file = tmp_path / "lora.yaml"
    file.write_text(TEXT)
    [found] = check(file)
    assert (found.code, found.severity) == ("LS017", "info")


@pytest.mark.parametrize(
    "text",
    [
        "base_model: a",
        "lora: {rank: 8}",
        "base_model: a\nprepare: {dtype: bf16}",
        "base_model: a\nlroa: {}",
        "# yaml-language-server: $schema=../schemas/lora-spec.schema.json\nbase: a",
    ],
)
def test_recognised(text: str) -> None:
    assert native.recognise(read_text(text, name="a.yaml"))


@pytest.mark.parametrize(
    "text",
    [
        "base_model: a\nadapter: lora\ndatasets: [{path: b}]\nlora_r: 8",
        "model_name_or_path: a\nfinetuning_type: lora",
        "model: {path: a, lora_rank: 8}",
        "lora: true",
    ],
)
def test_not_recognised(text: str) -> None:
    assert not native.recognise(read_text(text, name="a.yaml"))


def test_values_that_are_left_open_hide_nothing_else() -> None:
    found = check(read("base_model: a\nlora: {rank: '${RANK}', alpha: 0, target_modules: [q_proj]}"))
    assert [d.code for d in found] == ["LS017", "LS101"]
    assert "rank, which is left open" in found[0].message


def test_an_open_value_outside_our_sections_is_nobody_s_business() -> None:
    found = check(read("base_model: a\nx-note: ${HOME}\nlora: {rank: 0}"))
    assert [d.code for d in found] == ["LS150"]
