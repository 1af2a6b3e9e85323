"""The command as a process: streams, exit status, and what happens to our own faults."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lora_spec.cli.main import main
from lora_spec.rules.catalogue import ALL_RULES

ROOT = Path(__file__).parents[2]


def run(
    *arguments: str, code: str = "from lora_spec.cli.main import console; console()"
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )


def test_the_process_has_main_s_exit_status() -> None:
    assert run("check", "examples/broken.yaml").returncode == 1
    assert run("check", "examples/quickstart.yaml").returncode == 0
    assert run("check", "--nonsense").returncode == 2


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lora_spec", "--version"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.startswith("lora-spec 0.")


def test_our_own_fault_is_exit_status_3_and_says_what_to_report() -> None:
    done = run(
        "rules",
        code="import lora_spec.cli.explain as e\ndef broken(a): raise KeyError('x')\ne.run = broken\n"
        "from lora_spec.cli.main import console; console()",
    )
    assert done.returncode == 3
    assert "this is a fault of lora-spec" in done.stderr


def test_no_colour_where_there_is_no_terminal() -> None:
    assert "\x1b" not in run("check", "examples/broken.yaml").stdout


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ls123"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("LS123 regex-in-list (error)\n")
    assert "\nbad:\n" in text
    assert "\ngood:\n" in text


def test_explain_takes_a_name_and_knows_misspellings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "regex-in-list"]) == 0
    assert main(["explain", "regex-in-lists"]) == 2
    assert capsys.readouterr().err == "lora-spec: no rule regex-in-lists; did you mean regex-in-list?\n"


def test_rules_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(ALL_RULES)


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"].startswith("http://json-schema.org/draft-07")
    assert main(["schema", "axolotl"]) == 2
