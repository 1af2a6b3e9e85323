"""The scale of the adapter: alpha / rank, or alpha / sqrt(rank)."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.rules.inspection import Finding, Inspection, new_adapter
from lora_spec.spec.lora import Lora
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

EXTREME_SCALE = Rule(
    "LS160",
    "extreme-scale",
    Severity.WARNING,
    "What the adapter adds is multiplied by alpha / rank, or by alpha / sqrt(rank) with use_rslora. Published recipes "
    "lie between 0.25 and 32. Above 100 training soon diverges at usual learning rates; below 0.001 the adapter hardly "
    "changes the model.",
    "lora: {rank: 16, alpha: 3200}",
    "lora: {rank: 16, alpha: 32}",
)

SMALLEST, LARGEST = 0.001, 100
"""Scales that no published recipe leaves: alpha 1 at rank 512 (0.002), alpha 32 at rank 1 (32), and rank-stabilised ones
of alpha 2048 at rank 1024 (64), lie within.
"""


def inspect_scale(parsed: Parsed) -> Iterator[Finding]:
    """Scales that are far from any in use, of the adapter and of its patterns."""
    lora = new_adapter(parsed)
    if lora is None or not lora.rank or lora.alpha is None:
        return
    yield from _extreme(("lora", "alpha"), lora.alpha, lora.rank, parsed, lora)
    for key, alpha in lora.alpha_pattern.items():
        rank = lora.rank_pattern.get(key, None if lora.rank_pattern else lora.rank)
        yield from _extreme(("lora", "alpha_pattern", key), alpha, rank, parsed, lora)
    for key, rank in lora.rank_pattern.items() if not lora.alpha_pattern else ():
        if _is_usual(_scale(lora.alpha, lora.rank, lora)):
            yield from _extreme(("lora", "rank_pattern", key), lora.alpha, rank, parsed, lora)


def _extreme(path: DocumentPath, alpha: float, rank: int | None, parsed: Parsed, lora: Lora) -> Iterator[Diagnostic]:
    if rank is None or _is_usual(scale := _scale(alpha, rank, lora)):
        return
    by = f"alpha / {'sqrt(rank)' if lora.use_rslora else 'rank'}"
    message = f"alpha {alpha:g} at rank {rank} scales the adapter by {scale:g} ({by})"
    if path[1] == "rank_pattern":
        remedy = f"give {path[2]} its own alpha in alpha_pattern, or another rank"
    else:
        usual = round(2 * sqrt(rank)) if lora.use_rslora else 2 * rank
        remedy = f"write {usual} for the usual scale of 2"
    yield at_value(parsed.places, path, EXTREME_SCALE, message, remedy)


def _scale(alpha: float, rank: int, lora: Lora) -> float:
    return alpha / (sqrt(rank) if lora.use_rslora else rank)


def _is_usual(scale: float) -> bool:
    return SMALLEST <= scale <= LARGEST


RULES = (EXTREME_SCALE,)
INSPECTIONS = (
    Inspection(
        RULES,
        (("lora", "rank"), ("lora", "alpha"), ("lora", "rank_pattern"), ("lora", "alpha_pattern")),
        inspect_scale,
    ),
)
