"""Finds mistakes in LoRA configs before the model is loaded, and prepares the model.

The public names load what they need when they are first used: checking never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lora_spec.diagnostics import Diagnostic, Edit, Fix, Position, Range, Rule, Severity, SpecError
    from lora_spec.pipeline import Compiled, check, compile, parse, plan, read  # noqa: A004
    from lora_spec.planning.values import Plan
    from lora_spec.preparation.adapter_state import iter_adapter_state
    from lora_spec.preparation.recipe import load, prepare
    from lora_spec.preparation.save import save_adapter
    from lora_spec.preparation.values import Check, PreparedModel, Step
    from lora_spec.preparation.verify import verify
    from lora_spec.source.document import Document
    from lora_spec.spec.parsing import Parsed
    from lora_spec.spec.root import LoraSpec

_HOME = {
    "Check": "preparation.values",
    "Compiled": "pipeline",
    "Diagnostic": "diagnostics",
    "Document": "source.document",
    "Edit": "diagnostics",
    "Fix": "diagnostics",
    "LoraSpec": "spec.root",
    "Parsed": "spec.parsing",
    "Plan": "planning.values",
    "Position": "diagnostics",
    "PreparedModel": "preparation.values",
    "Range": "diagnostics",
    "Rule": "diagnostics",
    "Severity": "diagnostics",
    "SpecError": "diagnostics",
    "Step": "preparation.values",
    "check": "pipeline",
    "compile": "pipeline",
    "iter_adapter_state": "preparation.adapter_state",
    "load": "preparation.recipe",
    "parse": "pipeline",
    "plan": "pipeline",
    "prepare": "preparation.recipe",
    "read": "pipeline",
    "save_adapter": "preparation.save",
    "verify": "preparation.verify",
}

__all__ = [
    "Check",
    "Compiled",
    "Diagnostic",
    "Document",
    "Edit",
    "Fix",
    "LoraSpec",
    "Parsed",
    "Plan",
    "Position",
    "PreparedModel",
    "Range",
    "Rule",
    "Severity",
    "SpecError",
    "Step",
    "check",
    "compile",
    "iter_adapter_state",
    "load",
    "parse",
    "plan",
    "prepare",
    "read",
    "save_adapter",
    "verify",
]


def __getattr__(name: str) -> Any:
    """A public name, from the room that defines it (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
