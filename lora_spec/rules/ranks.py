"""Ranks against the widths of the layers, and the scales that come of them."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.matching import Adapted, match
from lora_spec.inventory.matching.tables import experts_of
from lora_spec.inventory.tree import Kind
from lora_spec.rules.ground import Ground
from lora_spec.spec.places import at_value

RANK_ABOVE_LAYER = Rule(
    "LS212",
    "rank-above-layer",
    Severity.WARNING,
    "An adapter whose rank is above the smaller side of its layer has more parameters than it can use; the layer itself "
    "would be smaller.",
    "lora: {rank: 256, alpha: 32, target_modules: [k_proj]}",
    "lora: {rank: 16, alpha: 32, target_modules: [k_proj]}",
)
SCALES_DIFFER = Rule(
    "LS213",
    "scales-differ",
    Severity.INFO,
    "The scale is alpha / rank. A rank_pattern without an alpha_pattern changes the scale of the modules that it names.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj], rank_pattern: {v_proj: 4}}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj], rank_pattern: {v_proj: 4}, alpha_pattern: {v_proj: 8}}",
)
FUSED_RANK = Rule(
    "LS237",
    "rank-of-fused-experts",
    Severity.INFO,
    "transformers 5 keeps the gate and up projections of experts in one parameter. PEFT gives it the rank of both "
    "together, and the alpha of both, so that alpha / rank stays: twice the rank that the file says, in the adapter's size and in "
    "what a server has to allow for.",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, gate_proj, up_proj, down_proj]}",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
RULES = (RANK_ABOVE_LAYER, SCALES_DIFFER, FUSED_RANK)


def inspect_ranks(ground: Ground) -> Iterator[Diagnostic]:
    """Ranks above a side of their layer, and scales that a rank_pattern makes differ."""
    if not ground.parsed.knows(("lora", "rank")):
        return
    adapted = (*ground.matched.modules, *ground.matched.parameters)
    wide = [a for a in adapted if a.kind is not Kind.CONV and a.rank > min(a.in_out)]
    if wide:
        worst = min(wide, key=lambda a: min(a.in_out))
        message = f"rank {worst.rank} is above the smaller side of {worst.name}, {worst.in_out[0]} -> {worst.in_out[1]}"
        more = f", and of {len(wide) - 1} more" if len(wide) > 1 else ""
        most = max(
            1, min(worst.in_out) * (ground.lora.rank or 1) // worst.rank
        )  # fused experts get several times the rank
        own = _own_ranks(wide, ground)
        remedy = f"write a rank of at most {most}" + (f", or add {own}" if own else "")
        path: DocumentPath = ("lora", "rank")
        by_pattern = [e for e in ground.matched.of("rank_pattern") if worst.name in e.effect]
        if by_pattern and ground.lora.rank_pattern and by_pattern[0].entry in ground.lora.rank_pattern:
            path = ("lora", "rank_pattern", by_pattern[0].entry)
            remedy = f"write a rank of at most {min(worst.in_out)}"
        yield at_value(ground.parsed.places, path, RANK_ABOVE_LAYER, message + more, remedy)
    scales = sorted({a.scale for a in ground.matched.modules})
    if len(scales) > 1 and ground.lora.rank_pattern and not ground.lora.alpha_pattern:
        message = f"the patterns give scales from {scales[0]:g} to {scales[-1]:g}"
        remedy = "set alpha_pattern with the same keys to keep alpha / rank equal"
        yield at_value(ground.parsed.places, ("lora", "rank_pattern"), SCALES_DIFFER, message, remedy)


def inspect_fused(ground: Ground) -> Iterator[Diagnostic]:
    """Fused experts, whose rank is that of their parts together (`_convert_peft_config_moe`, PEFT 0.21.2)."""
    rank, experts = ground.lora.rank, experts_of(ground.tree.model_type)
    for adapted in ground.reached.parameters if rank and experts and ground.matched.refusal is None else ():
        parts = experts.fused.get(adapted.name.rpartition(".")[2], ()) if experts else ()
        if rank and len(parts) > 1 and adapted.rank == rank * len(parts) and ground.parsed.knows(("lora", "rank")):
            fused = adapted.name.rpartition(".")[2]
            message = (
                f"PEFT adapts {fused} at rank {adapted.rank}: in this model {' and '.join(parts)} of an expert are one "
                f"parameter, which gets the rank of both, and alpha {adapted.alpha:g} (scale {adapted.scale:g})"
            )
            yield at_value(ground.parsed.places, ("lora", "rank"), FUSED_RANK, message)
            return


def _own_ranks(wide: list[Adapted], ground: Ground) -> str | None:
    """A rank_pattern in which each of them has the rank of its smaller side, where PEFT's matching bears it out."""
    ranks: dict[str, int] = {}
    for adapted in wide:
        *_, owner, leaf = ("", *adapted.name.split("."))
        key = leaf if adapted.kind is not None else f"{owner}.{leaf}"
        ranks[key] = min(ranks.get(key, adapted.rank), *adapted.in_out)
    written = ground.lora.rank_pattern
    after = match(ground.tree, {**ground.arguments, "rank_pattern": {**ranks, **written}})
    sides = [a for a in (*after.modules, *after.parameters) if a.kind is not Kind.CONV and a.rank > min(a.in_out)]
    dead = [entry for entry in after.of("rank_pattern") if not entry.effect]
    return (
        None
        if sides or dead or len(ranks) > 4
        else f"rank_pattern: {ground.parsed.places.spelled({**ranks, **written})}"
    )
