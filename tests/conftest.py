"""What all tests share."""

from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="write what is said of each case file as expected")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each file below tests/cases is a test: drop a file in, and what must be said of it beside it as .expected."""
    if "case_file" in metafunc.fixturenames:
        files = sorted(p for p in CASES.rglob("*") if p.suffix in {".yaml", ".json"})
        metafunc.parametrize("case_file", files, ids=[str(p.relative_to(CASES)) for p in files])
