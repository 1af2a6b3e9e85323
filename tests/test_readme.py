"""The README's files and outputs are the real ones; ``--update-cases`` writes them anew."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lora_spec.cli.main import main

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"<!-- (file|run): ([^\n]+) -->\n(```\w*\n)(.*?)(```\n)", re.DOTALL)


def output_of(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "lora-spec"
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        main(arguments)
    return written.getvalue()


def real(kind: str, what: str) -> str:
    return (ROOT / what).read_text(encoding="utf-8") if kind == "file" else output_of(what)


def without_measurements(text: str) -> str:
    return re.sub(r"\d+\.\d+ (s|GiB)\b", r"N \1", text)


def test_every_block_is_real(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    text = README.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-cases"):
        text = BLOCK.sub(lambda m: f"<!-- {m[1]}: {m[2]} -->\n{m[3]}{real(m[1], m[2])}{m[5]}", text)
        README.write_text(text, encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) == 9
    for kind, what, _, shown, _ in blocks:
        assert without_measurements(shown) == without_measurements(real(kind, what)), what


def test_the_ci_runs_exactly_the_test_command() -> None:
    [command] = re.findall(r"^python3 -m venv \.venv-test .*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == command


def test_the_python_example_runs() -> None:
    script = ROOT / "examples" / "python_api.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "trainable params: " in done.stdout


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").glob("*.yaml")))
def test_each_example_is_as_good_as_its_name(name: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["check", str(ROOT / "examples" / name)]) == (
            1 if name in {"broken.yaml", "partly_wrong.yaml"} else 0
        )


@pytest.mark.parametrize("name", ["quickstart.yaml", "verl_sft.yaml", "fixed.yaml"])
def test_each_sound_example_prepares(name: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["prepare", str(ROOT / "examples" / name)]) == 0
