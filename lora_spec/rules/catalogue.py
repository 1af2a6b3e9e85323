"""Every rule there is: the tuple of what is inspected, and the tuple of all records for `rules` and `explain`."""

from __future__ import annotations

from lora_spec.diagnostics import Rule, Severity
from lora_spec.dialects import native, parsing, verl
from lora_spec.rules import adapters, compiling, effects, launch, names, preparation, regexes, serving, targets, training
from lora_spec.rules.inspection import Inspection
from lora_spec.source import faults as source_faults
from lora_spec.spec import faults as spec_faults

NOT_CHECKED = Rule(
    "LS017",
    "not-checked",
    Severity.INFO,
    "Silence would read as if all had been checked. The structure of the model was not known, a value is left open "
    "(such as ${RANK}), or a path is not on this machine.",
    "lora: {rank: '${RANK}', alpha: 32}",
    "base_model: tiny-qwen2",
)

INSPECTIONS: tuple[Inspection, ...] = (
    *names.INSPECTIONS,
    *regexes.INSPECTIONS,
    *effects.INSPECTIONS,
    *training.INSPECTIONS,
    *adapters.INSPECTIONS,
    *launch.INSPECTIONS,
    *serving.INSPECTIONS,
)

ALL_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *source_faults.RULES,
            *parsing.RULES,
            *native.RULES,
            *spec_faults.RULES,
            NOT_CHECKED,
            *names.RULES,
            *regexes.RULES,
            *effects.RULES,
            *training.RULES,
            *targets.RULES,
            *preparation.RULES,
            *compiling.RULES,
            *launch.RULES,
            *serving.RULES,
            *verl.RULES,
        ),
        key=lambda rule: rule.code,
    )
)


def rule_named(code_or_name: str) -> Rule | None:
    """The rule of that code or name, or None."""
    wanted = code_or_name.strip()
    return next((r for r in ALL_RULES if wanted.upper() == r.code or wanted.lower() == r.name), None)
