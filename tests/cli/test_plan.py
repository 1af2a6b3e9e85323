"""`lora-spec plan` and `lora-spec init`."""

import json
import os
from pathlib import Path

import pytest

from lora_spec.cli.main import main

TEXT = """base_model: Qwen/Qwen2.5-0.5B-Instruct
lora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj, o_proj]}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lora.yaml"
    path.write_text(TEXT)
    return path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    code = main(["plan", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, str(file), "--batch-size", "1", "--sequence-length", "1024")
    assert code == 0
    assert {key: result[key] for key in ("schema_version", "model_source", "exact", "lora", "trainable_percent")} == {
        "schema_version": 1,
        "model_source": "catalogue",
        "exact": True,
        "lora": True,
        "trainable_percent": 0.4359,
    }
    assert result["entries"][0] == {
        "field": "target_modules",
        "entry": "q_proj",
        "matched": 24,
        "layers": "0-23",
        "towers": ["language"],
        "trainable_parameters": 688128,
    }
    memory = result["memory"]
    parts = memory["per_device_bytes"]
    assert list(parts) == [
        *("frozen", "adapter", "gradients", "optimizer", "transient", "activations", "logits", "total"),
    ]
    assert sum(value for part, value in parts.items() if part != "total") == parts["total"]
    assert memory["range"]["lower"] <= parts["total"] <= memory["range"]["upper"]


def test_text_fits_80_columns(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for base in ("Qwen/Qwen2.5-0.5B-Instruct", "deepseek-ai/DeepSeek-V3", "Qwen/Qwen2.5-VL-7B-Instruct", "gpt2"):
        file.write_text(f"base_model: {base}\nlora: {{rank: 8, alpha: 16, target_modules: all-linear}}\n")
        main(["plan", str(file)])
        text = capsys.readouterr().out
        assert [
            line for line in text.splitlines() if len(line) > 80 and not line.startswith("trainable params: ")
        ] == []


def test_the_line_is_peft_s(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(file)])
    expected = "trainable params: 2,162,688 || all params: 496,195,456 || trainable%: 0.4359"
    assert expected in capsys.readouterr().out.splitlines()


def test_html_is_one_page_that_needs_nothing(file: Path) -> None:
    assert main(["plan", str(file), "--html", "plan.html"]) == 0
    page = Path("plan.html").read_text()
    assert "<script" not in page
    assert "http" not in page
    assert page.count('title="q_proj, layer ') == 24
    assert main(["plan", str(file), "--html", "plan.html"]) == 2
    assert main(["plan", str(file), "--html", "plan.html", "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("80GB", "cannot say, the parts that are known fit in 74.51 GiB"),
        ("0.9GB", "would fit with quantization: {bits: 4}"),
        ("1MB", "nor sharding, makes it fit"),
    ],
)
def test_fit(file: Path, capsys: pytest.CaptureFixture[str], size: str, words: str) -> None:
    file.write_text(TEXT.replace("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B"))
    assert main(["plan", str(file), "--fit", size]) == 0
    assert words in capsys.readouterr().out


def test_pairs_and_devices_where_no_single_setting_helps(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["--batch-size", "4", "--sequence-length", "4096"]
    assert main(["plan", str(file), "--fit", "10GB", *run]) == 0
    text = capsys.readouterr().out
    assert "does not fit in 9.31 GiB" in text
    assert "would fit with prepare.gradient_checkpointing: true and train.batch_size: 1" in text
    assert main(["plan", str(file), "--json", "--fit", "80GB", *run]) == 0
    fit = json.loads(capsys.readouterr().out)["fit"]
    assert (fit["capacity_bytes"], fit["fits"], fit["changes"]) == (80_000_000_000, True, [])


@pytest.mark.parametrize("size", ["big", "24"])
def test_a_size_that_is_none(file: Path, capsys: pytest.CaptureFixture[str], size: str) -> None:
    assert main(["plan", str(file), "--fit", size]) == 2
    assert capsys.readouterr().err == f"lora-spec: --fit {size} is no size; write it like 80GB or 80GiB\n"


def test_after_an_error_what_is_known_is_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("v_proj", "v_prj"))
    code, result = run_json(capsys, str(file))
    assert (code, result["trainable_parameters"], [d["code"] for d in result["diagnostics"]]) == (1, 1769472, ["LS201"])


def test_a_model_that_is_not_known(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("Qwen/Qwen2.5-0.5B-Instruct", "nobody/has-this"))
    code, result = run_json(capsys, str(file))
    assert (code, result["model_source"], result["trainable_parameters"]) == (0, "unavailable", None)


def test_init_writes_a_file_that_check_finds_clean(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "Qwen/Qwen3-8B"]) == 0
    file.write_text(capsys.readouterr().out)
    assert main(["check", str(file), "--fail-on", "unchecked"]) == 0


def test_init_of_a_model_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "nobody/has-this"]) == 2
    assert "pass --online" in capsys.readouterr().err


def test_a_page_is_written_through_to_a_pipe(file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert main(["plan", str(file), "--html", str(pipe), "--overwrite"]) == 0
    assert os.read(reader, 9) == b"<!doctype"
    os.close(reader)
    assert pipe.is_fifo()


def test_json_beside_a_page(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "plan.html"
    assert main(["plan", str(file), "--json", "--html", str(page)]) == 0
    assert page.exists()
    assert json.loads(capsys.readouterr().out)["lora"] is True


@pytest.mark.parametrize("size", ["80", "8iB", ".5G"])
def test_a_size_needs_a_unit(file: Path, capsys: pytest.CaptureFixture[str], size: str) -> None:
    assert main(["plan", str(file), "--fit", size]) == 2
    assert "is no size" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0", "-1", "x"])
def test_a_count_is_a_whole_number(file: Path, capsys: pytest.CaptureFixture[str], size: str) -> None:
    with pytest.raises(SystemExit):
        main(["plan", str(file), "--world-size", size])
    assert f"{size} is no whole number of at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('{"r": 8, "target_modules": 5}', "is broken: target_modules is 5"),
        ('{"r": 8, "target_modules": ["q_proj"], "rank_pattern": [1]}', "is broken: rank_pattern is [1]"),
        ('{"peft_type": "IA3"}', 'is that of another method: peft_type is "IA3"'),
        ("[" * 100_000, "cannot be read (RecursionError)"),
    ],
)
def test_an_adapter_that_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, words: str) -> None:
    (tmp_path / "adapter_config.json").write_text(config, encoding="utf-8")
    (tmp_path / "adapter_model.safetensors").touch()
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"base_model: Qwen/Qwen2.5-0.5B\nlora: {{adapter_path: {tmp_path}}}\n", encoding="utf-8")
    assert main(["plan", str(spec)]) == 1
    assert words in capsys.readouterr().err


def test_an_adapter_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapter = Path(__file__).parent.parent / "adapters" / "of-gpt2"
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"base_model: Qwen/Qwen2.5-0.5B\nlora: {{adapter_path: {adapter}}}\n", encoding="utf-8")
    assert main(["plan", str(spec)]) == 1
    said = capsys.readouterr()
    assert "[LS236] the adapter in adapter_path does not fit Qwen2ForCausalLM" in said.err
    assert "note: the adapter does not fit Qwen2ForCausalLM: " in said.out
