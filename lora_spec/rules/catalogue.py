"""The record of every rule there is, by code: for `rules`, `explain` and the selection of codes."""

from __future__ import annotations

from lora_spec.diagnostics import Rule
from lora_spec.dialects import native, parsing, verl
from lora_spec.rules import (
    adapter_fits,
    cannot_adapt,
    compiling,
    dead_entries,
    dead_patterns,
    effects,
    launch,
    misapplied,
    names,
    on_model,
    preparation,
    quantized,
    regexes,
    scales,
    seldom_wanted,
    serving,
    targets,
    training,
)
from lora_spec.rules.inspections import NOT_CHECKED
from lora_spec.source import faults as source_faults
from lora_spec.spec import faults as spec_faults

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
            *scales.RULES,
            *quantized.RULES,
            *targets.RULES,
            *dead_entries.RULES,
            *dead_patterns.RULES,
            *cannot_adapt.RULES,
            *misapplied.RULES,
            *seldom_wanted.RULES,
            *on_model.RULES,
            *adapter_fits.RULES,
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
