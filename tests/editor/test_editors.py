"""What editors show for our schema, asked of the real servers: each case of cases.yaml, in YAML and in JSON.

One run of Node asks for all cases. It is required where CI is set; elsewhere, without Node, the leg is not run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
SCHEMA = HERE.parents[1] / "schemas" / "lora-spec.schema.json"
CURSOR = "<|>"

Case = dict[str, Any]

CASES: list[Case] = yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
QUESTIONS = [(case, language) for case in CASES for language in ("yaml", "json") if language in case]


def text_of(case: Case, language: str) -> str:
    if language == "json" and case["json"] == "same":
        return json.dumps(core_values(case["yaml"]), indent=2)
    return str(case[language])


def core_values(text: str) -> Any:
    assert CURSOR not in text, "a text with a cursor has to be written in both languages"
    return yaml.safe_load(text)


def question(text: str) -> Case:
    """The text less the cursor; the cursor's line from 1, its character from 0."""
    before, found, after = text.partition(CURSOR)
    if not found:
        return {"text": text}
    return {
        "text": before + after,
        "cursor": {"line": before.count("\n") + 1, "character": len(before.split("\n")[-1])},
    }


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, str], Case]:
    require_servers()
    asked = {language: [case for case, other in QUESTIONS if other == language] for language in ("yaml", "json")}
    texts = {language: [question(text_of(case, language)) for case in cases] for language, cases in asked.items()}
    done = run(["node", "ask.mjs"], json.dumps({"schema": str(SCHEMA), **texts}))
    assert done.returncode == 0, done.stderr
    answered = json.loads(done.stdout)
    return {
        (case["name"], language): answer
        for language, cases in asked.items()
        for case, answer in zip(cases, answered[language], strict=True)
    }


def require_servers() -> None:
    """Install the servers where they are not there yet."""
    lacking = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if lacking:
        not_run(f"{' and '.join(lacking)} not found")
    if not (HERE / "node_modules" / ".package-lock.json").exists():
        done = run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        if done.returncode:
            not_run(f"npm ci failed: {done.stderr}")


def not_run(reason: str) -> None:
    """Node is required where CI is set; elsewhere the leg is left out, which is said."""
    if os.environ.get("CI"):
        pytest.fail(f"what editors show must be tested where CI is set: {reason}")
    pytest.skip(f"NOT RUN: what editors show ({reason})")


def run(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=HERE, input=text, capture_output=True, text=True, timeout=300, check=False)


def bare(text: str) -> str:
    """The first line of a text, less the quotes around it."""
    line = text.split("\n", maxsplit=1)[0]
    return line[1:-1] if len(line) > 2 and line[0] == line[-1] and line[0] in "'\"" else line


@pytest.mark.parametrize(
    ("case", "language"), QUESTIONS, ids=lambda part: part if isinstance(part, str) else part["name"]
)
def test_what_an_editor_shows(case: Case, language: str, answers: dict[tuple[str, str], Case]) -> None:
    answer = answers[case["name"], language]
    check_completion(case, language, answer.get("completion", []))
    for piece in case.get("hover", ()):
        assert piece in answer["hover"].replace("\\", "")
    if "says" in case:
        said = [(d["line"], bare(d["span"]), d["message"]) for d in answer["diagnostics"]]
        check_said(case["says"], language, said)
    if language == "yaml":
        assert set(case.get("fixes", ())) <= set(answer["fixes"])


def check_completion(case: Case, language: str, items: list[Case]) -> None:
    labels = {bare(item["label"]) for item in items}
    assert set(case.get("offers", ())) <= labels
    assert not set(case.get("offers_not", ())) & labels
    if "offers_only" in case:
        assert labels == set(case["offers_only"])
    for label, text in case.get("inserts" if language == "yaml" else "json_inserts", {}).items():
        assert text in [item["insert"] for item in items if bare(item["label"]) == label]


def check_said(expected: list[Case], language: str, said: list[tuple[int, str, str]]) -> None:
    """Each expected diagnostic is there, and no other; both are in the order of their lines."""
    wanted = [one | {key: one.get(f"{language}_{key}", one[key]) for key in ("line", "at", "has")} for one in expected]
    assert [(one["line"], one["at"]) for one in wanted] == [(line, at) for line, at, _ in sorted(said)], said
    for one, (_, _, message) in zip(wanted, sorted(said), strict=True):
        assert one["has"] in message


def test_enough_cases_are_asked_of_both_servers() -> None:
    both = [case for case in CASES if {"yaml", "json"} <= case.keys()]
    assert len(both) >= 26
    assert len({case["name"] for case in CASES}) == len(CASES)
