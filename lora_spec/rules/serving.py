"""What the server that is named could not load."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Rule, Severity
from lora_spec.rules.inspection import Finding, Inspection, drafted, new_adapter
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

RANK_ABOVE_SERVER = Rule(
    "LS701",
    "rank-above-server",
    Severity.ERROR,
    "An engine allocates its LoRA slots for a largest rank when it starts, and refuses an adapter above it.",
    "lora: {rank: 64, alpha: 128}\nserve: {engine: vllm, max_lora_rank: 16}",
    "lora: {rank: 64, alpha: 128}\nserve: {engine: vllm, max_lora_rank: 64}",
)


def inspect_rank(parsed: Parsed) -> Iterator[Finding]:
    """The largest rank against what the server is started for."""
    lora, serve = new_adapter(parsed), drafted(parsed).serve
    if lora is None or serve is None or serve.max_lora_rank is None or lora.rank is None:
        return
    largest = max([lora.rank, *lora.rank_pattern.values()])
    if largest > serve.max_lora_rank:
        message = f"max_lora_rank {serve.max_lora_rank} is below the adapter's largest rank, {largest}"
        path = ("serve", "max_lora_rank")
        fixes = parsed.places.replacement(path, largest, safe=False)
        yield at_value(
            parsed.places, path, RANK_ABOVE_SERVER, message, f"start {serve.engine} with max_lora_rank {largest}", fixes
        )


RULES = (RANK_ABOVE_SERVER,)
INSPECTIONS = (Inspection(RULES, (("lora", "rank"), ("lora", "rank_pattern"), ("serve",)), inspect_rank),)
