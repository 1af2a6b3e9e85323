"""`lora-spec check`: files, folders, standard input, formats, selection and exit status."""

import io
import json
from pathlib import Path

import pytest

from lora_spec.cli.main import main

GOOD = "base_model: tiny-qwen2\nlora: {rank: 8, alpha: 16, target_modules: [q_proj]}\n"
BAD = GOOD.replace("alpha: 16", "alpha: 0")
ELSEWHERE = GOOD.replace("tiny-qwen2", "nobody/has-this")
WARNED = GOOD.replace("alpha: 16", "alpha: 16, dropout: 0.9")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    code = main(["check", "--format", "json", *arguments])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("text", "code"), [(GOOD, 0), (BAD, 1), (WARNED, 0), ("a: [", 1), ("", 1), ("lora: {}", 1)])
def test_exit_status(folder: Path, text: str, code: int) -> None:
    folder.joinpath("a.yaml").write_text(text)
    assert main(["check", "a.yaml"]) == code


@pytest.mark.parametrize(
    ("text", "bar", "code"),
    [
        (WARNED, "warning", 1),
        (GOOD, "warning", 0),
        (GOOD, "unchecked", 0),
        (ELSEWHERE, "unchecked", 1),
        ("base_model: a", "unchecked", 0),
    ],
)
def test_fail_on_moves_the_bar(folder: Path, text: str, bar: str, code: int) -> None:
    folder.joinpath("a.yaml").write_text(text)
    assert main(["check", "--fail-on", bar, "a.yaml"]) == code


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("a.yaml").write_text(
        'base_model: tiny-qwen2\nlora: {rank: "8", alpha: 16, target_modules: [q_proj]}\n'
    )
    code, result = run_json(capsys, "--select", "LS013", "a.yaml")
    assert code == 1
    assert result == {
        "schema_version": 1,
        "files": [
            {
                "path": "a.yaml",
                "dialect": "lora-spec",
                "diagnostics": [
                    {
                        "code": "LS013",
                        "name": "wrong-type",
                        "severity": "error",
                        "message": 'rank must be a whole number, not the text "8"',
                        "help": "write 8",
                        "document_path": ["lora", "rank"],
                        "range": {"start": {"line": 2, "column": 14}, "end": {"line": 2, "column": 17}},
                        "fixes": [
                            {
                                "description": "write 8",
                                "safe": True,
                                "edits": [
                                    {
                                        "range": {
                                            "start": {"line": 2, "column": 14},
                                            "end": {"line": 2, "column": 17},
                                        },
                                        "text": "8",
                                    }
                                ],
                            }
                        ],
                    }
                ],
            }
        ],
        "summary": {"files": 1, "skipped": 0, "errors": 1, "warnings": 0, "infos": 0, "unchecked": 0},
    }


def test_a_folder_skips_what_is_no_config_of_ours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("good.yaml").write_text(GOOD)
    folder.joinpath("broken.yaml").write_text("lora: {rank: [")
    folder.joinpath("other.yaml").write_text("name: x\n")
    folder.joinpath("other.json").write_text("[1]")
    folder.joinpath("template.yaml").write_text("{{ x }: [")
    folder.joinpath(".hidden").mkdir()
    folder.joinpath(".hidden", "bad.yaml").write_text(BAD)
    code, result = run_json(capsys)
    assert (code, [file["path"] for file in result["files"]]) == (1, ["broken.yaml", "good.yaml"])
    assert result["summary"]["skipped"] == 3


def test_a_named_file_that_no_dialect_takes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("a.yaml").write_text("lorra: {rank: 8}\n")
    code, result = run_json(capsys, "a.yaml")
    [found] = result["files"][0]["diagnostics"]
    assert (code, found["code"], result["files"][0]["dialect"]) == (1, "LS010", None)
    assert "lorra is close to lora" in found["help"]


def test_the_dialect_can_be_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("a.yaml").write_text("lorra: {rank: 8}\n")
    _, result = run_json(capsys, "--dialect", "lora-spec", "a.yaml")
    assert [d["code"] for d in result["files"][0]["diagnostics"]] == ["LS011", "LS012", "LS012", "LS017", "LS151"]


def test_a_path_that_cannot_be_opened_leaves_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("good.yaml").write_text(GOOD)
    assert main(["check", "missing.yaml", "good.yaml", "--format", "json"]) == 2
    captured = capsys.readouterr()
    assert [file["path"] for file in json.loads(captured.out)["files"]] == ["good.yaml"]
    assert captured.err == "lora-spec: cannot open missing.yaml: no such file or directory\n"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    code, result = run_json(capsys, "-", "--stdin-filename", "lora.yaml")
    assert (code, result["files"][0]["path"]) == (1, "lora.yaml")


def test_the_name_of_standard_input_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"base_model": "a", "lora": {"rank": 0},}'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["check", "-", "--stdin-filename", "lora.json"]) == 1


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        ([], ["LS101", "LS152"]),
        (["--select", "LS101"], ["LS101"]),
        (["--select", "LS1"], ["LS101", "LS152"]),
        (["--select", "LS1", "--ignore", "LS152"], ["LS101"]),
        (["--ignore", "LS0,ls101"], ["LS152"]),
    ],
)
def test_selection(folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str], codes: list[str]) -> None:
    folder.joinpath("a.yaml").write_text(BAD.replace("alpha: 0", "alpha: 0, dropout: 0.9"))
    _, result = run_json(capsys, *flags, "a.yaml")
    assert sorted(d["code"] for d in result["files"][0]["diagnostics"]) == codes


@pytest.mark.parametrize("flags", [["--select", "LS9"], ["--ignore", "E501"], ["--dialect", "nonesuch"]])
def test_flags_that_name_nothing(folder: Path, flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("a.yaml").write_text(GOOD)
    assert main(["check", *flags, "a.yaml"]) == 2
    assert capsys.readouterr().err.startswith("lora-spec: no ")


@pytest.mark.parametrize("argv", [["check", "--fix"], ["chek"], [], ["check", "--format", "sarif"]])
def test_what_this_version_lacks_is_a_usage_error(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2


def test_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("a.yaml").write_text(BAD)
    main(["check", "a.yaml", "--ignore", "LS017"])
    assert capsys.readouterr().out == (
        "a.yaml:2:24: error[LS101] alpha must be above 0, not 0\n"
        "  |\n"
        "2 | lora: {rank: 8, alpha: 0, target_modules: [q_proj]}\n"
        "  |                        ^\n"
        "  help: write a value above 0\n"
        "\n"
        "1 error in 1 file\n"
    )


def test_a_folder_that_cannot_be_listed_is_trouble_and_the_rest_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.joinpath("a.yaml").write_text(BAD)
    folder.joinpath("locked").mkdir()
    listed = Path.iterdir

    def guarded(path: Path) -> object:
        if path.name == "locked":
            raise PermissionError
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", guarded)
    code, result = run_json(capsys, ".")
    assert code == 2
    assert [file["path"] for file in result["files"]] == ["a.yaml"]


def test_another_base_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("a.yaml").write_text(GOOD)
    code, report = run_json(capsys, "a.yaml", "--base-model", "openai-community/gpt2")
    assert code == 1
    [diagnostic] = report["files"][0]["diagnostics"]
    assert diagnostic["message"] == "q_proj matches no module of GPT2LMHeadModel"


def test_a_list_in_a_folder_is_none_of_our_business(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.joinpath("cases.yaml").write_text("- lora: 1\n")
    assert run_json(capsys, ".")[1]["summary"]["skipped"] == 1
    assert run_json(capsys, "cases.yaml")[0] == 1
