"""`lora-spec prepare`."""

import json
from pathlib import Path

import pytest

import lora_spec
from lora_spec.cli.main import main

torch = pytest.importorskip("torch")

TEXT = """base_model: tiny-qwen2
lora: {rank: 4, alpha: 8, target_modules: [q_proj, v_proj]}
prepare: {dtype: float32}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lora.yaml"
    path.write_text(TEXT)
    return path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    code = main(["prepare", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, str(file))
    assert code == 0
    assert [step["name"] for step in result["steps"]] == [
        *("build", "enable_input_require_grads", "wrap_peft", "task_type", "cast", "verify"),
    ]
    assert {check["passed"] for check in result["checks"]} == {True}
    assert (result["schema_version"], result["world_size"], result["output"]) == (1, 1, None)
    assert (result["trainable_parameters"], result["diagnostics"]) == (3584, [])


def test_text_ends_in_peft_s_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", str(file)]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("trainable params: 3,584 || all params: ")
    assert captured.err == ""


def test_a_fault_of_the_file_stops_before_anything_is_built(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("alpha: 8", "alpha: 0"))
    code, result = run_json(capsys, str(file))
    assert (code, result["steps"], [d["code"] for d in result["diagnostics"]]) == (1, [], ["LS101", "LS017"])


def test_a_target_that_the_model_lacks_is_told_at_its_place(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("v_proj", "v_prj"))
    code, result = run_json(capsys, str(file))
    [found] = result["diagnostics"]
    assert (code, found["code"], found["document_path"]) == (1, "LS201", ["lora", "target_modules", 1])
    assert found["range"]["start"] == {"line": 2, "column": 52}


def test_the_adapter_is_saved_and_not_over_another(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, str(file), "--output", "adapter")
    assert (code, result["output"]) == (0, "adapter")
    assert sorted(p.name for p in Path("adapter").iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
    code, result = run_json(capsys, str(file), "--output", "adapter")
    assert (code, [d["code"] for d in result["diagnostics"]]) == (1, ["LS303"])
    code, _ = run_json(capsys, str(file), "--output", "adapter", "--overwrite")
    assert code == 0


def test_a_saved_adapter_is_continued_in_both_forms(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_json(capsys, str(file), "--output", "adapter")
    file.write_text("base_model: tiny-qwen2\nlora: {adapter_path: ./adapter}\n")
    code, result = run_json(capsys, str(file))
    assert (code, [step["name"] for step in result["steps"]][2]) == (0, "load_adapter")
    for base, status in (("partial_pretrain", 0), ("path", 1)):
        Path("verl.yaml").write_text(f"model: {{{base}: tiny-qwen2, lora_adapter_path: ./adapter}}\n")
        assert run_json(capsys, "verl.yaml")[0] == status


def test_lora_off(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("base_model: tiny-qwen2\nlora: {rank: 0}\n")
    code, result = run_json(capsys, str(file), "--output", "adapter")
    assert (code, result["output"], result["trainable_parameters"]) == (0, None, result["all_parameters"])
    assert not Path("adapter").exists()


def test_a_model_that_is_not_here(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("tiny-qwen2", "nobody/has-this-model"))
    code, result = run_json(capsys, str(file))
    assert (code, [d["code"] for d in result["diagnostics"]]) == (1, ["LS306"])


def test_tiny(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((Path(lora_spec.__file__).parent / "inventory/models/tiny-qwen2/config.json").read_text())
    Path("base").mkdir()
    Path("base", "config.json").write_text(json.dumps(config | {"hidden_size": 1024, "intermediate_size": 4096}))
    file.write_text(TEXT.replace("tiny-qwen2", "./base"))
    code, result = run_json(capsys, str(file), "--tiny")
    assert code == 0
    assert any("hidden_size" in change for change in result["changes"])


def test_a_missing_extra(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lora_spec.cli.prepare.find_spec", lambda _: None)
    assert main(["prepare", str(file)]) == 2
    expected = "lora-spec: prepare needs torch, transformers, peft, safetensors: pip install 'lora-spec[train]'\n"
    assert capsys.readouterr().err == expected


def test_a_step_that_crashes(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: object, **__: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("lora_spec.preparation.recipe.build", out_of_memory)
    assert main(["prepare", str(file)]) == 2
    assert capsys.readouterr().err == "lora-spec: the step build crashed: RuntimeError: out of memory\n"


def test_what_peft_warned_of_is_told_in_the_text_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("base").mkdir()
    config = {"model_type": "gpt2", "n_layer": 1, "n_embd": 32, "n_head": 2, "vocab_size": 64}
    Path("base", "config.json").write_text(json.dumps(config | {"bos_token_id": 1, "eos_token_id": 1}))
    file.write_text("base_model: ./base\nlora: {rank: 4, alpha: 8, target_modules: [c_attn]}\n")
    assert main(["prepare", "--tiny", str(file)]) == 0
    assert capsys.readouterr().err == (
        "lora-spec: peft warned: fan_in_fan_out is set to False but the target module is `Conv1D`. "
        "Setting fan_in_fan_out to True [LS302]\n"
    )
