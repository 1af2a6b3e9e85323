"""What is inspected in every document, in this order."""

from __future__ import annotations

from lora_spec.diagnostics import Rule, Severity
from lora_spec.rules import (
    adapters,
    effects,
    launch,
    names,
    quantized,
    refusals,
    regexes,
    scales,
    serving,
    training,
)
from lora_spec.rules.inspection import Inspection

NOT_CHECKED = Rule(
    "LS017",
    "not-checked",
    Severity.INFO,
    "Silence would read as if all had been checked. The structure of the model was not known, a value is left open "
    "(such as ${RANK}), or a path is not on this machine.",
    "lora: {rank: '${RANK}', alpha: 32}",
    "base_model: tiny-qwen2",
)

SAID_BETTER = {"LS151": "LS225", "LS154": "LS161", "LS155": "LS161"}
"""Infos and warnings on what another rule, where it speaks, has called a fault already."""

INSPECTIONS: tuple[Inspection, ...] = (
    *names.INSPECTIONS,
    *regexes.INSPECTIONS,
    *effects.INSPECTIONS,
    *refusals.INSPECTIONS,
    *quantized.INSPECTIONS,
    *training.INSPECTIONS,
    *scales.INSPECTIONS,
    *adapters.INSPECTIONS,
    *launch.INSPECTIONS,
    *serving.INSPECTIONS,
)
