"""`lora-spec compile --to peft`."""

import json
from pathlib import Path

import pytest

from lora_spec.cli.main import main

TEXT = "base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16, target_modules: [q_proj]}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lora.yaml"
    path.write_text(TEXT)
    return path


def test_the_arguments_go_to_standard_output(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(file), "--to", "peft"]) == 0
    captured = capsys.readouterr()
    assert (json.loads(captured.out)["r"], captured.err) == (8, "")


def test_after_an_error_there_are_diagnostics_alone(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("alpha: 16", "alpha: 0"))
    assert main(["compile", str(file), "--to", "peft"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error[LS101]" in captured.err


def test_an_open_value_is_an_error_here(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("rank: 8", "rank: $RANK"))
    assert main(["compile", str(file), "--to", "peft"]) == 1
    assert "error[LS019] rank is left open and is needed here" in capsys.readouterr().err


def test_lora_off_cannot_be_compiled(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("base_model: tiny-qwen2\nlora: {rank: 0}\n")
    assert main(["compile", str(file), "--to", "peft"]) == 1
    assert f"{file}:2:14: error[LS501]" in capsys.readouterr().err


def test_a_file_is_written_whole_and_not_over_another(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(file), "--to", "peft", "-o", "out.json"]) == 0
    assert json.loads(Path("out.json").read_text())["lora_alpha"] == 16
    assert main(["compile", str(file), "--to", "peft", "-o", "out.json"]) == 2
    assert capsys.readouterr().err == "lora-spec: out.json exists; --overwrite replaces it\n"
    assert main(["compile", str(file), "--to", "peft", "-o", "out.json", "--overwrite"]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["lora.yaml", "out.json"]


def test_a_folder_that_does_not_exist(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(file), "--to", "peft", "-o", "no/out.json"]) == 2
    assert "cannot write no/out.json" in capsys.readouterr().err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "missing.yaml", "--to", "peft"]) == 2
    assert "cannot open missing.yaml" in capsys.readouterr().err


def test_another_format_is_a_usage_error(file: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compile", str(file), "--to", "axolotl"])
    assert stop.value.code == 2
