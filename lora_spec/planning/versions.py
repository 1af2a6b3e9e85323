"""Whether the counts are proven for what is installed here: PEFT 0.21 with transformers 5, or neither."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PROVEN = {"peft": "0.21.", "transformers": "5."}


def installed_versions() -> dict[str, str]:
    """The versions of PEFT and transformers that are installed; what is not, is left out."""
    found = {}
    for name in PROVEN:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def exact_here() -> bool:
    """Whether every installed one is a version that the counts were held against."""
    return all(installed.startswith(PROVEN[name]) for name, installed in installed_versions().items())
