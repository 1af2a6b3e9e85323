"""The JSON of `plan`; its shape is versioned."""

from __future__ import annotations

from typing import Any

from lora_spec.planning.memory import Memory
from lora_spec.planning.values import Plan
from lora_spec.reports.json_report import SCHEMA_VERSION, diagnostics_as_json


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """``plan`` in builtin types; what is not known is null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "base_model": plan.base_model,
        "model_type": plan.model_type,
        "model_class": plan.model_class,
        "model_source": plan.model_source,
        "exact": plan.exact,
        "lora": plan.lora,
        "trainable_parameters": plan.trainable_parameters,
        "all_parameters": plan.all_parameters,
        "trainable_percent": plan.trainable_percent,
        "adapted_modules": plan.adapted_modules,
        "adapted_parameters": plan.adapted_parameters,
        "adapter_bytes": plan.adapter_bytes,
        "entries": [entry._asdict() | {"towers": list(entry.towers)} for entry in plan.entries],
        "groups": [group._asdict() | {"shape": list(group.shape)} for group in plan.groups],
        "left_out": [left._asdict() for left in plan.left_out],
        "peft": plan.peft,
        "steps": [step._asdict() for step in plan.steps],
        "memory": memory_as_json(plan.memory),
        "notes": list(plan.notes),
        "diagnostics": diagnostics_as_json(plan.diagnostics),
    }


PARTS = ("frozen", "adapter", "gradients", "optimizer", "transient", "activations", "logits", "total")


def memory_as_json(memory: Memory | None) -> dict[str, Any] | None:
    """The estimate for one device, in bytes."""
    if memory is None:
        return None
    return {
        "devices": memory.devices,
        "per_device_bytes": {part: getattr(memory, part) for part in PARTS},
        "range": {"lower": memory.lower, "upper": memory.upper},
        "notes": list(memory.notes),
    }
