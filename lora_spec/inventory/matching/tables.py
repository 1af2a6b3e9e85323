"""PEFT's tables, exported to JSON: default targets and the conversion of expert names by model type, special names."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

TABLES = Path(__file__).parent.parent / "peft_tables.json"


class Experts(NamedTuple):
    """How PEFT renames the experts of a model type: old leaf name to new, and which old ones are fused in a new one."""

    renamed: dict[str, str]
    fused: dict[str, list[str]]


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(TABLES.read_text(encoding="utf-8"))
    return tables


def default_targets(model_type: str) -> str | tuple[str, ...] | None:
    """`TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING` (PEFT 0.21.2, `utils/constants.py`)."""
    targets = _tables()["default_targets"].get(model_type)
    return targets if targets is None or isinstance(targets, str) else tuple(targets)


def experts_of(model_type: str) -> Experts | None:
    """`_MOE_TARGET_MODULE_MAPPING` and `_MOE_FUSED_TARGETS` for a model type (PEFT 0.21.2,
    `utils/transformers_weight_conversion.py`), or None where PEFT converts nothing.
    """
    pattern = _tables()["expert_model_types"].get(model_type)
    return Experts(**_tables()["expert_patterns"][pattern]) if pattern else None


def is_converted(model_type: str) -> bool:
    """Whether PEFT renames or fuses the tensors of a saved adapter when it loads one onto this model type
    (`convert_peft_adapter_state_dict_for_transformers`, PEFT 0.21.2, by the conversions of transformers 5.24).
    """
    return model_type in _tables()["converted_model_types"]


def mamba_types() -> frozenset[str]:
    """The model types that `_check_lora_target_modules_mamba` looks at (PEFT 0.21.2, `tuners/tuners_utils.py`)."""
    return frozenset(_tables()["mamba_model_types"])


def mamba_modules() -> frozenset[str]:
    """The leaf names that it refuses in them."""
    return frozenset(_tables()["mamba_modules"])


def embedding_names() -> frozenset[str]:
    """`EMBEDDING_LAYER_NAMES` (PEFT 0.21.2, `utils/constants.py`)."""
    return frozenset(_tables()["embedding_names"])


def classifier_names() -> tuple[str, ...]:
    """`SEQ_CLS_HEAD_NAMES` (PEFT 0.21.2, `utils/constants.py`), in PEFT's order."""
    return tuple(_tables()["classifier_names"])


def heads_of(task_type: str | None) -> tuple[str, ...]:
    """What the `PeftModelFor…` of a task adds to modules_to_save (PEFT 0.21.2, `peft_model.py`)."""
    return tuple(_tables()["heads"].get(task_type, ()))
