"""What will train, said where it may not be what was meant."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Rule, Severity
from lora_spec.rules.inspection import Finding, Inspection, drafted, new_adapter
from lora_spec.spec.inits import CordaInit, EvaInit, LoraGaInit, OloraInit, PissaInit, RandomInit
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_key, at_value

LORA_OFF = Rule(
    "LS150",
    "lora-off",
    Severity.INFO,
    "Without a rank above 0 or an adapter path there is no adapter: the model comes back as it is and everything trains.",
    "base_model: tiny-qwen2",
    "lora: {rank: 16, alpha: 32}",
)
DEFAULT_TARGETS = Rule(
    "LS151",
    "default-targets",
    Severity.INFO,
    "PEFT has a default list of targets for some model types, often the query and value projections alone, and fails "
    "after loading for the others.",
    "lora: {rank: 16, alpha: 32}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj, o_proj]}",
)
HIGH_DROPOUT = Rule(
    "LS152",
    "high-dropout",
    Severity.WARNING,
    "More than half of the adapter's input is dropped in each step; usual values are 0 to 0.1.",
    "lora: {rank: 16, alpha: 32, dropout: 0.9}",
    "lora: {rank: 16, alpha: 32, dropout: 0.05}",
)
BIAS_CHANGES_BASE = Rule(
    "LS153",
    "bias-changes-base",
    Severity.WARNING,
    "The base model's own biases train and are saved with the adapter. Disabling the adapter no longer gives the base "
    "model, and servers refuse such an adapter.",
    "lora: {rank: 16, alpha: 32, bias: all}",
    "lora: {rank: 16, alpha: 32, bias: none}",
)
INIT_CHANGES_BASE = Rule(
    "LS154",
    "init-changes-base",
    Severity.INFO,
    "The init rewrites the base weights. The adapter fits that base alone until it is converted while it is saved "
    "(path_initial_model_for_weight_conversion in PEFT's save_pretrained).",
    "lora: {rank: 16, alpha: 32, init: pissa}",
    "lora: {rank: 16, alpha: 32}",
)
INIT_NEEDS_DATA = Rule(
    "LS155",
    "init-needs-data",
    Severity.WARNING,
    "The init takes its start from data or gradients, in a call of its own that no config can make: "
    "initialize_lora_eva_weights after wrapping, preprocess_corda or preprocess_loraga before it.",
    "lora: {rank: 16, alpha: 32, init: eva}",
    "lora: {rank: 16, alpha: 32}",
)
RANDOM_INIT = Rule(
    "LS156",
    "random-init",
    Severity.WARNING,
    "lora_B starts random, so the first step already differs from the base model. PEFT has it for debugging.",
    "lora: {rank: 16, alpha: 32, init: random}",
    "lora: {rank: 16, alpha: 32}",
)
QUANTIZED_WITHOUT_LORA = Rule(
    "LS157",
    "quantized-without-lora",
    Severity.ERROR,
    "Weights in 4 or 8 bit cannot train. They need an adapter on top.",
    "quantization: {bits: 4}",
    "quantization: {bits: 4}\nlora: {rank: 16, alpha: 32}",
)
ARROW_NEEDS_EXPERTS = Rule(
    "LS158",
    "arrow-needs-experts",
    Severity.ERROR,
    "Arrow routes among adapters that are trained already. PEFT's create_arrow_model sets it up; get_peft_model with "
    "an arrow_config fails while it builds the first layer.",
    "lora: {rank: 16, alpha: 32, arrow_config: {top_k: 2}}",
    "lora: {rank: 16, alpha: 32}",
)
ALORA_IS_CAUSAL = Rule(
    "LS159",
    "alora-is-causal",
    Severity.WARNING,
    "PEFT supports alora_invocation_tokens for causal language models alone.",
    "lora: {rank: 16, alpha: 32, alora_invocation_tokens: [5], task_type: SEQ_CLS}",
    "lora: {rank: 16, alpha: 32, alora_invocation_tokens: [5]}",
)


def inspect_lora_off(parsed: Parsed) -> Iterator[Finding]:
    """LoRA that is off."""
    spec = drafted(parsed)
    if spec.lora_on or (spec.lora is not None and spec.lora.rank is None):
        return
    rank, places = parsed.places.name(("lora", "rank")), parsed.places
    is_said = places.document is None or places.document.node(places.path(("lora", "rank"))) is not None
    absent = f"there is no {rank}" if places.core is False else "there is no lora section"
    why = f"{rank} is 0" if spec.lora is not None and is_said else absent
    yield at_value(parsed.places, ("lora", "rank"), LORA_OFF, f"LoRA is off: {why}, so all parameters train")
    if spec.quantization is not None:
        message = f"the base model is in {spec.quantization.bits} bit and LoRA is off: nothing can train"
        remedy = "add lora with a rank above 0, or remove quantization"
        yield at_key(parsed.places, ("quantization",), QUANTIZED_WITHOUT_LORA, message, remedy)


def inspect_default_targets(parsed: Parsed) -> Iterator[Finding]:
    """Targets that are left to PEFT."""
    lora = new_adapter(parsed)
    if lora is not None and lora.target_modules is None and lora.target_parameters is None:
        message = "no target_modules: PEFT takes its default for the model type, and fails where it has none"
        remedy = "name them to be sure: target_modules: [q_proj, k_proj, v_proj, o_proj]"
        yield at_key(parsed.places, ("lora",), DEFAULT_TARGETS, message, remedy)


def inspect_settings(parsed: Parsed) -> Iterator[Finding]:
    """Single settings that are seldom wanted."""
    lora, places = new_adapter(parsed), parsed.places
    if lora is None:
        return
    if lora.dropout > 0.5:
        message = f"dropout {lora.dropout:g} drops more than half of the adapter's input"
        yield at_value(places, ("lora", "dropout"), HIGH_DROPOUT, message, "write 0.05, or 0 to turn it off")
    if lora.bias != "none":
        which = "all biases" if lora.bias == "all" else "the biases of adapted layers"
        message = f"bias: {lora.bias} trains {which} of the base model itself"
        yield at_value(places, ("lora", "bias"), BIAS_CHANGES_BASE, message, "write none to keep the base as it is")
    if lora.arrow_config is not None:
        message = "arrow_config works through PEFT's create_arrow_model alone"
        yield at_value(
            places, ("lora", "arrow_config"), ARROW_NEEDS_EXPERTS, message, "remove it, and call create_arrow_model"
        )
    if lora.alora_invocation_tokens is not None and lora.task_type not in (None, "CAUSAL_LM"):
        message = f"alora_invocation_tokens does not work with task_type: {lora.task_type}"
        yield at_value(
            places, ("lora", "alora_invocation_tokens"), ALORA_IS_CAUSAL, message, "write task_type: CAUSAL_LM"
        )


def inspect_init(parsed: Parsed) -> Iterator[Finding]:
    """Inits that do more, or less, than start the adapter."""
    lora, places = new_adapter(parsed), parsed.places
    path = ("lora", "init")
    if lora is None:
        return
    kind = lora.init.kind
    if isinstance(lora.init, RandomInit):
        message = "init: random starts the adapter away from the base model"
        yield at_value(places, path, RANDOM_INIT, message, "remove init")
    if isinstance(lora.init, (EvaInit, CordaInit, LoraGaInit)):
        message = f"init: {kind} needs a call with data that prepare does not make"
        yield at_value(places, path, INIT_NEEDS_DATA, message, "make the call in your program, or take another init")
    if isinstance(lora.init, (PissaInit, OloraInit, CordaInit, LoraGaInit)) or lora.kasa_config:
        what, at = ("kasa_config", ("lora", "kasa_config")) if lora.kasa_config else (f"init: {kind}", path)
        message = f"{what} rewrites the base weights: keep the original checkpoint"
        yield at_value(places, at, INIT_CHANGES_BASE, message, "convert the adapter when you save it")


RULES = (
    LORA_OFF,
    DEFAULT_TARGETS,
    HIGH_DROPOUT,
    BIAS_CHANGES_BASE,
    INIT_CHANGES_BASE,
    INIT_NEEDS_DATA,
    RANDOM_INIT,
    QUANTIZED_WITHOUT_LORA,
    ARROW_NEEDS_EXPERTS,
    ALORA_IS_CAUSAL,
)
INSPECTIONS = (
    Inspection((LORA_OFF, QUANTIZED_WITHOUT_LORA), (("lora", "rank"), ("lora", "adapter_path")), inspect_lora_off),
    Inspection(
        (DEFAULT_TARGETS,),
        (("lora", "target_modules"), ("lora", "target_parameters"), ("lora", "adapter_path")),
        inspect_default_targets,
    ),
    Inspection(
        (HIGH_DROPOUT, BIAS_CHANGES_BASE, ARROW_NEEDS_EXPERTS, ALORA_IS_CAUSAL),
        (("lora", "dropout"), ("lora", "bias"), ("lora", "task_type")),
        inspect_settings,
    ),
    Inspection((RANDOM_INIT, INIT_NEEDS_DATA, INIT_CHANGES_BASE), (("lora", "init"),), inspect_init),
)
