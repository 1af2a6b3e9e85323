"""Typical values that an editor offers, by the path of the setting.

They are ``defaultSnippets``, which complete and nothing else: ``examples`` would each print a block in the hover, and a
``default`` would be inserted with the key.
"""

from __future__ import annotations

from typing import Any

from lora_spec.spec.inits import INITS, KINDS
from lora_spec.spec.wording import yaml_text

VALUES: dict[str, tuple[Any, ...]] = {
    "base_model": ("tiny-qwen2",),
    "lora.rank": (8, 16, 32, 64),
    "lora.alpha": (16, 32, 64, 128),
    "lora.dropout": (0.0, 0.05, 0.1),
    "lora.target_modules": ("all-linear", ["q_proj", "k_proj", "v_proj", "o_proj"], {"regex": ".*[qv]_proj"}),
    "lora.exclude_modules": (["lm_head"], {"regex": ".*vision.*"}),
    "lora.layers_pattern": ("layers", "h", "blocks"),
    "prepare.attn_implementation": ("sdpa", "flash_attention_2", "eager"),
    "prepare.device": ("cuda", "cpu", "mps"),
    "prepare.gradient_checkpointing": ({"use_reentrant": False},),
}


def snippets(path: str) -> list[dict[str, Any]]:
    """What an editor offers as the value of the setting at ``path``; none where the schema's own words say it all."""
    if path == "lora.init":
        return [
            _kind_with_settings(kind) for kind, model in zip(KINDS, INITS, strict=True) if len(model.model_fields) > 1
        ]
    return [{"label": yaml_text(value), "body": value} for value in VALUES.get(path, ())]


def _kind_with_settings(kind: str) -> dict[str, Any]:
    return {"label": f"{kind} with settings", "body": {"kind": kind}}
