"""Why a base model cannot be had, in our words: transformers speaks of the network, and advises to run foreign code."""

from __future__ import annotations

import json
from pathlib import Path

import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.faults import fault
from lora_spec.rules.preparation import BASE_UNAVAILABLE
from lora_spec.spec.root import LoraSpec

REFUSALS = (
    ValueError,
    TypeError,
    RuntimeError,
    AttributeError,
    KeyError,
    IndexError,
    ZeroDivisionError,
    StrictDataclassError,
    SafetensorError,
)
"""What a transformers class raises for a config or weights that it cannot be built from."""


def unavailable(spec: LoraSpec, error: Exception, *, online: bool) -> SpecError:
    """The fault for ``error``, raised while the base model of ``spec`` was read or built."""
    if isinstance(error, SpecError):
        return error
    words, help_ = _reason(spec, error, online=online)
    return fault(BASE_UNAVAILABLE, words, help_, at=("base_model",))


def _reason(spec: LoraSpec, error: Exception, *, online: bool) -> tuple[str, str]:
    base, text = spec.base_model, " ".join(str(error).split())
    if "trust_remote_code" in text:
        return f"'{base}' needs code of its own, which is never run", "take a model type that transformers has itself"
    if "ignore_mismatched_sizes" in text:
        return f"the weights of '{base}' do not have the sizes of its config.json", "take both from the same model"
    if isinstance(error, SafetensorError):
        return f"cannot read the weights of '{base}': {text}", "check that they were downloaded to their end"
    if isinstance(error, OSError):
        return _not_here(base, text, online=online)
    if "model_type" in text or "does not recognize" in text:
        return (
            f"transformers {transformers.__version__} does not know the model type of '{base}'{_model_type(base)}",
            "correct model_type in its config.json, or install a transformers that knows it",
        )
    chosen = f" as {spec.model_class}" if spec.model_class else ""
    words = text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"
    help_ = "correct its config.json, or model_class" if chosen else "correct its config.json"
    return f"cannot build '{base}'{chosen}: {_short(words)}", help_


def _not_here(base: str, text: str, *, online: bool) -> tuple[str, str]:
    folder = Path(base)
    if not folder.is_dir():
        if online:
            return f"cannot find '{base}' on the hub: {_short(text)}", "correct base_model"
        words = f"cannot find '{base}': it is neither a local folder nor in the hub's local cache"
        return words, "correct base_model, download it first, or pass --online"
    if not (folder / "config.json").is_file():
        return f"there is no config.json in '{base}'", "name the folder of a model"
    if not _readable(folder / "config.json"):
        return f"the config.json of '{base}' is not valid JSON", "correct it, or download it again"
    if "no file named" in text:
        return f"there are no weights in '{base}'", "add them, or rehearse without weights: prepare --tiny"
    return f"cannot read '{base}': {_short(text)}", "check that it was downloaded to its end"


def _model_type(base: str) -> str:
    path = Path(base) / "config.json"
    content = json.loads(path.read_bytes()) if path.is_file() and _readable(path) else None
    named = content.get("model_type") if isinstance(content, dict) else None
    return f": {named}" if named else ""


def _readable(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:297]}..."
