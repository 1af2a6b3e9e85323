"""Typical values that an editor offers, by the path of the setting.

They are ``defaultSnippets``, which complete and nothing else: ``examples`` would each print a block in the hover. A single
one is inserted with its key, where an editor would else put 0 for a number.
"""

from __future__ import annotations

from typing import Any

from lora_spec.spec.inits import INITS, KINDS
from lora_spec.spec.wording import yaml_text

VALUES: dict[str, tuple[Any, ...]] = {
    "base_model": ("Qwen/Qwen2.5-0.5B-Instruct", "tiny-qwen2"),
    "lora.rank": (8, 16, 32, 64),
    "lora.alpha": (16, 32, 64, 128),
    "lora.dropout": (0.0, 0.05, 0.1),
    "lora.target_modules": ("all-linear", ["q_proj", "k_proj", "v_proj", "o_proj"], {"regex": ".*[qv]_proj"}),
    "lora.exclude_modules": (["lm_head"], {"regex": ".*vision.*"}),
    "lora.layers_pattern": ("layers", "h", "blocks"),
    "lora.layers_to_transform": ([0, 1, 2, 3],),
    "lora.init.niter": (16,),
    "prepare.attn_implementation": ("sdpa", "flash_attention_2", "eager"),
    "prepare.device": ("cuda", "cpu", "mps"),
    "prepare.gradient_checkpointing": ({"use_reentrant": False},),
    "prepare.seed": (42,),
    "prepare.fsdp.replicate": (2,),
    "prepare.fsdp.shard": (8,),
    "train.world_size": (8,),
    "train.batch_size": (1,),
    "train.sequence_length": (4096,),
    "serve.max_lora_rank": (16, 32, 64, 128, 256),
}


def snippets(path: str, node: dict[str, Any]) -> list[dict[str, Any]]:
    """What an editor offers as the value of the setting at ``path`` beside what its schema ``node`` says in words."""
    if path == "lora.init":
        kinds = [kind for kind, model in zip(KINDS, INITS, strict=True) if len(model.model_fields) > 1]
        return [{"label": f"{kind} with settings", "body": {"kind": kind}} for kind in kinds]
    return [snippet(value) for value in VALUES.get(path, _default_number(node))]


def snippet(value: Any) -> dict[str, Any]:
    """An offer of ``value``."""
    return {"label": yaml_text(value), "body": value}


def _default_number(node: dict[str, Any]) -> tuple[Any, ...]:
    is_number = node.get("type") in ("integer", "number") and "enum" not in node
    return (node["default"],) if is_number and node.get("default") is not None else ()
