"""All rules that need the structure of the base model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lora_spec.diagnostics import Diagnostic, Rule, Severity
from lora_spec.inventory.matching import match
from lora_spec.inventory.sources import Found
from lora_spec.inventory.tree import ModuleTree
from lora_spec.planning.explicit import explicit_arguments
from lora_spec.planning.versions import exact_here, installed_versions
from lora_spec.rules.cannot_adapt import inspect_refusal, inspect_tokens, nothing_else_told
from lora_spec.rules.dead_entries import inspect_dead_entries
from lora_spec.rules.dead_patterns import inspect_patterns
from lora_spec.rules.dead_targets import inspect_dead_targets
from lora_spec.rules.ground import Ground
from lora_spec.rules.inspection import Finding, drafted, new_adapter
from lora_spec.rules.misapplied import inspect_misapplied
from lora_spec.rules.model_not_known import targets_are_lost
from lora_spec.rules.quantized import inspect_quantized_checkpoint
from lora_spec.rules.seldom_wanted import inspect_seldom_wanted
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.peft_arguments import peft_arguments
from lora_spec.spec.places import at_value

NOT_EXACT = Rule(
    "LS231",
    "not-exact",
    Severity.INFO,
    "Matching and counting are held against PEFT 0.21 with transformers 5. Other versions name and match some modules "
    "otherwise.",
    "base_model: tiny-qwen2\nlora: {rank: 16, alpha: 32}   # with peft 0.18",
    "base_model: tiny-qwen2\nlora: {rank: 16, alpha: 32}   # with peft 0.21",
)
WRITTEN_OUT = Rule(
    "LS232",
    "written-out",
    Severity.INFO,
    "PEFT 0.21 goes by the last segment of names on some mixture-of-experts models, and applies neither layers nor "
    "exclusions to experts. compile and prepare write the names out in full, so that just what the file says is "
    "adapted. The same file given to PEFT by another tool would adapt something else.",
    "base_model: Qwen/Qwen3-30B-A3B\n"
    r"lora: {rank: 16, alpha: 32, target_modules: {regex: 'model\.layers\.[0-3]\.self_attn\.q_proj'}}",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
RULES = (NOT_EXACT, WRITTEN_OUT)

MENDED_BY_NAMES = ("LS206", "LS214", "LS215", "LS216")
"""Faults of PEFT's conversion of experts, which names in full do not have."""

_WORDS = "compile and prepare write the names out in full, as PEFT would reach something else"


def inspect_on_model(parsed: Parsed, found: Found, tree: ModuleTree, *, sound: bool = True) -> Iterator[Finding]:
    """What the rules on the model say; ``sound`` is whether the document has no error so far."""
    lora = new_adapter(parsed)
    if lora is None or targets_are_lost(parsed):
        return
    arguments = _arguments(parsed)
    matched = match(tree, arguments)
    explicit = explicit_arguments(tree, arguments, matched) if parsed.dialect == "lora-spec" else None
    final = match(tree, explicit) if explicit is not None else None
    ground = Ground(parsed, found, tree, lora, arguments, matched, sound, final)
    said = [finding for inspect in INSPECTIONS for finding in inspect(ground)]
    if explicit is not None:
        said = [d for d in said if d.code not in MENDED_BY_NAMES]
        yield at_value(parsed.places, ("lora", "target_modules"), WRITTEN_OUT, f"{_WORDS} on {tree.model_type}")
    yield from said
    if sound and ground.matched.refusal is not None and not any(d.is_error for d in said):
        yield nothing_else_told(ground)
    yield from _not_exact(ground)


INSPECTIONS: tuple[Callable[[Ground], Iterator[Diagnostic]], ...] = (
    inspect_dead_targets,
    inspect_dead_entries,
    inspect_patterns,
    inspect_refusal,
    inspect_tokens,
    inspect_misapplied,
    inspect_seldom_wanted,
    inspect_quantized_checkpoint,
)


def _arguments(parsed: Parsed) -> dict[str, object]:
    """PEFT's arguments of the draft; a rank that is not known does not change what matches."""
    draft = drafted(parsed)
    assert draft.lora is not None
    if not draft.lora.rank:
        draft = draft.model_copy(update={"lora": draft.lora.model_copy(update={"rank": 8})})
    return peft_arguments(draft)


def _not_exact(ground: Ground) -> Iterator[Diagnostic]:
    reasons = [*ground.matched.inexact]
    if not exact_here():
        reasons.append("these are installed: " + ", ".join(f"{n} {v}" for n, v in installed_versions().items()))
    if reasons:
        message = f"counts and matches are not proven to be PEFT's: {'; '.join(reasons)}"
        yield at_value(ground.parsed.places, ("lora", "target_modules"), NOT_EXACT, message)
