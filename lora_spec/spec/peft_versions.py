"""Since when PEFT knows what a spec can say.

Read from `LoraConfig`'s fields in the releases 0.11.1 to 0.21.2 (`tuners/lora/config.py`, the newest patch of each).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OLDEST = "0.17"
"""The oldest PEFT that the package supports: everything that is not listed below was there."""

ARGUMENT_SINCE = {
    "alora_invocation_tokens": "0.18",
    "arrow_config": "0.18",
    "ensure_weight_tying": "0.18",
    "lora_ga_config": "0.19",
    "use_bdlora": "0.19",
    "monteclora_config": "0.20",
    "velora_config": "0.20",
    "kasa_config": "0.21",
}
INIT_SINCE = {"lora_ga": "0.19", "mica": "0.20"}


def too_old_for(arguments: Mapping[str, Any], installed: str) -> Iterator[tuple[str, str]]:
    """The native fields among PEFT's ``arguments`` that the ``installed`` version does not know, with the version that
    does.
    """
    since = {_native(name): ARGUMENT_SINCE[name] for name in arguments if name in ARGUMENT_SINCE}
    if (init := arguments.get("init_lora_weights")) in INIT_SINCE:
        since["init"] = INIT_SINCE[init]
    for name, version in since.items():
        if _order(installed) < _order(version):
            yield name, version


def _native(argument: str) -> str:
    return "init" if argument == "lora_ga_config" else argument


def _order(version: str) -> tuple[int, ...]:
    """The first two numbers; what follows does not decide here."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
