"""What keeps a sound spec from becoming a ``peft.LoraConfig``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from lora_spec.diagnostics import Diagnostic, Rule, Severity
from lora_spec.rules.preparation import PEFT_TOO_OLD
from lora_spec.spec.peft_arguments import peft_arguments
from lora_spec.spec.peft_versions import too_old_for
from lora_spec.spec.places import Places, at_key, at_value
from lora_spec.spec.root import LoraSpec

NOTHING_TO_COMPILE = Rule(
    "LS501",
    "nothing-to-compile",
    Severity.ERROR,
    "A LoraConfig describes a new adapter. With LoRA off there is none, and an adapter that is continued brings the "
    "config that it was saved with.",
    "lora: {rank: 0}",
    "lora: {rank: 16, alpha: 32}",
)
RULES = (NOTHING_TO_COMPILE,)


def refusals(spec: LoraSpec, places: Places, installed: str | None = None) -> Iterator[Diagnostic]:
    """Why ``spec`` cannot be compiled; ``installed`` is PEFT's version, by default the one that is installed here."""
    lora = spec.lora
    if lora is None or not spec.lora_on:
        yield at_value(
            places, ("lora", "rank"), NOTHING_TO_COMPILE, "LoRA is off: there is nothing to compile", "set a rank"
        )
        return
    if lora.adapter_path is not None:
        message = "an adapter is continued: its config is the adapter_config.json in its folder"
        yield at_key(places, ("lora", "adapter_path"), NOTHING_TO_COMPILE, message, "prepare loads it with that config")
        return
    installed = installed or installed_peft()
    for field, since in too_old_for(peft_arguments(spec), installed) if installed else ():
        message = f"{field} needs peft {since} or newer; {installed} is installed"
        yield at_key(places, ("lora", field), PEFT_TOO_OLD, message, f"pip install 'peft>={since}', or remove {field}")


def installed_peft() -> str | None:
    """The version of PEFT that is installed, without importing it; None where there is none."""
    try:
        return version("peft")
    except PackageNotFoundError:
        return None
