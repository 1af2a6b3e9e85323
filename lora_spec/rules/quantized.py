"""Inits and variants that need the base weights as they are, on weights in 4 or 8 bit."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, Rule, Severity
from lora_spec.rules.ground import Ground
from lora_spec.rules.inspection import Finding, Inspection, drafted, new_adapter
from lora_spec.spec.lora import Lora
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

NEEDS_FULL_WEIGHTS = Rule(
    "LS161",
    "needs-full-weights",
    Severity.ERROR,
    "An init that takes the base weights apart stops at weights in 4 or 8 bit, after they are loaded. Of the variants, "
    "PEFT refuses VeLoRA on such layers and builds plain LoRA for KaSA, MonteCLoRA and BD-LoRA without a word.",
    "lora: {rank: 16, alpha: 32, init: pissa}\nquantization: {bits: 4}",
    "lora: {rank: 16, alpha: 32, init: olora}\nquantization: {bits: 4}",
)

_OLORA = "init: olora, which dequantises the weights itself"
INITS = {
    "pissa": _OLORA,
    "corda": _OLORA,
    "mica": "the default init",
    "orthogonal": "init: gaussian",
    "loftq": "the default init",
}
"""What to take instead of each init that cannot start on bitsandbytes' layers (`LoraLayer.update_layer`, peft 0.21.2 with
bitsandbytes 0.50): pissa, corda and mica raise TypeError, orthogonal RuntimeError; loftq quantises full weights itself.
"""

IGNORED = ("kasa_config", "monteclora_config", "use_bdlora")
"""Variants that bitsandbytes' layers pass over (`Linear4bit.resolve_lora_variant`, peft 0.21.2)."""


def inspect_quantization(parsed: Parsed) -> Iterator[Finding]:
    """Where the document asks for 4 or 8 bit."""
    lora, quantization = new_adapter(parsed), drafted(parsed).quantization
    if lora is not None and quantization is not None:
        base = f"a base model in {quantization.bits} bit"
        yield from _faults(lora, base, "remove quantization", parsed)


def inspect_quantized_checkpoint(ground: Ground) -> Iterator[Diagnostic]:
    """Where the checkpoint itself is bitsandbytes'."""
    if ground.tree.quantization == "bitsandbytes" and drafted(ground.parsed).quantization is None:
        remedy = "name the full checkpoint as the base model"
        yield from _faults(ground.lora, "this checkpoint, which bitsandbytes has quantised", remedy, ground.parsed)


def _faults(lora: Lora, base: str, without: str, parsed: Parsed) -> Iterator[Diagnostic]:
    kind = lora.init.kind
    if kind in INITS and parsed.knows(("lora", "init")):
        why = "it quantises full weights itself" if kind == "loftq" else "it needs the full weights"
        message = f"init: {kind} does not work on {base}: {why}"
        yield at_value(
            parsed.places, ("lora", "init"), NEEDS_FULL_WEIGHTS, message, f"{without}, or take {INITS[kind]}"
        )
    for field in (*IGNORED, "velora_config"):
        if getattr(lora, field) is None or not parsed.knows(("lora", field)):
            continue
        what = "is passed over without a word" if field in IGNORED else "is refused"
        message = f"{field} {what} on {base}"
        yield at_value(parsed.places, ("lora", field), NEEDS_FULL_WEIGHTS, message, f"{without}, or remove {field}")


RULES = (NEEDS_FULL_WEIGHTS,)
INSPECTIONS = (Inspection(RULES, (("quantization",),), inspect_quantization),)
