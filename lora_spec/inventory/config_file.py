"""A model's ``config.json``: where it is found without asking the network, and what identifies it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

NOISE = {
    "_name_or_path",
    "_attn_implementation",
    "_attn_implementation_autoset",
    "attn_implementation",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "pad_token_id",
    "torch_dtype",
    "transformers_version",
    "use_cache",
}
"""Keys that differ between checkpoints of one structure."""


def config_key(config: dict[str, Any]) -> str:
    """A digest of what the structure can depend on, the same for two checkpoints of one structure."""
    text = json.dumps(_relevant(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _relevant(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _relevant(item) for key, item in value.items() if key not in NOISE}
    return [_relevant(item) for item in value] if isinstance(value, list) else value


def read_config(path: Path) -> dict[str, Any] | None:
    """The config in a file, or None where it is not there; ValueError where it is no JSON object."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} cannot be read: it is nested too deeply") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} is no JSON object")  # noqa: TRY004 - the file's fault, not the caller's
    if objection := _objection(config):
        raise ValueError(f"{path} is no config of a model: {objection}")
    return config


LARGEST = {
    "hidden_size": 1_000_000,
    "intermediate_size": 10_000_000,
    "vocab_size": 100_000_000,
    "num_hidden_layers": 10_000,
    "num_attention_heads": 100_000,
    "num_experts": 100_000,
    "num_local_experts": 100_000,
    "n_routed_experts": 100_000,
}
"""Sizes that no model comes near; building a larger one would not end."""


def _objection(config: dict[str, Any]) -> str:
    """What no model's config can say; empty where there is nothing of the kind."""
    model_type = config.get("model_type", "")
    if not isinstance(model_type, str):
        return f"its model_type is {json.dumps(model_type)[:40]}, not a name"
    text = config.get("text_config")
    for key, most in LARGEST.items():
        for section in (config, text if isinstance(text, dict) else {}):
            size = section.get(key)
            if isinstance(size, (int, float)) and not 0 <= size <= most:
                return f"its {key} is {str(size)[:20]}"
    return ""


def cached_config(model_id: str, revision: str | None = None) -> dict[str, Any] | None:
    """The config of a hub id in the hub's local cache, as huggingface_hub lays it out; None where it is not there."""
    folder = _hub_cache() / f"models--{model_id.replace('/', '--')}"
    try:
        commit = (folder / "refs" / (revision or "main")).read_text(encoding="utf-8").strip()
    except OSError:
        commit = revision or ""
    return read_config(folder / "snapshots" / commit / "config.json") if commit else None


def _hub_cache() -> Path:
    """Where huggingface_hub keeps models (``huggingface_hub.constants.HF_HUB_CACHE``)."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if path := os.environ.get(variable):
            return Path(path).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(home).expanduser() / "hub"
