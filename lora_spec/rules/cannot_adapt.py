"""What PEFT refuses on this model, told before the weights are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.matching import Reason, Refusal
from lora_spec.rules.ground import Ground, in_suffix
from lora_spec.spec.places import at_key, at_value

CANNOT_ADAPT = Rule(
    "LS207",
    "cannot-adapt",
    Severity.ERROR,
    "PEFT adapts linear layers, embeddings, convolutions, attention of PyTorch's own, and fused parameters, each with "
    "its own limits. It finds out while it replaces modules, after the base model is loaded.",
    "lora: {rank: 16, alpha: 32, target_modules: [self_attn]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj, o_proj]}",
)
HALF_FUSED = Rule(
    "LS217",
    "half-of-a-fused-pair",
    Severity.ERROR,
    "The gate and up projections of experts are one parameter. PEFT converts their names together and refuses one "
    "without the other.",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, gate_proj]}",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, gate_proj, up_proj]}",
)
TOKEN_OUT_OF_RANGE = Rule(
    "LS218",
    "token-out-of-range",
    Severity.ERROR,
    "A token index beyond the vocabulary fails when the first batch with it comes, or reads other memory.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], trainable_token_indices: [999999]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], trainable_token_indices: [7]}",
)
NO_DEFAULT_TARGETS = Rule(
    "LS225",
    "no-default-targets",
    Severity.ERROR,
    "PEFT knows default targets for some model types only and refuses to guess for the others.",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32}",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
RULES = (CANNOT_ADAPT, HALF_FUSED, TOKEN_OUT_OF_RANGE, NO_DEFAULT_TARGETS)


class _Told(NamedTuple):
    """How a refusal is told: the rule, the field that it is shown at, the message and the remedy."""

    rule: Rule
    field: str
    message: str
    remedy: str


SAID_ELSEWHERE = {Reason.NOTHING_MATCHED, Reason.ALL_EXCLUDED, Reason.ARGUMENTS, Reason.BAD_REGEX}
"""Reasons that other rules tell entry by entry, or that the schema has told."""


def inspect_refusal(ground: Ground) -> Iterator[Diagnostic]:
    """PEFT's refusal, at the entry that causes it where one can be named."""
    refusal = ground.matched.refusal
    if refusal is None or refusal.reason in SAID_ELSEWHERE:
        return
    told = _told(refusal, ground)
    path = _cause(refusal, told.field, ground)
    if ground.parsed.knows(path):
        yield at_value(ground.parsed.places, path, told.rule, told.message, told.remedy)


def nothing_else_told(ground: Ground) -> Diagnostic:
    """A refusal that no entry explains, such as defaults that the model does not have."""
    refusal, lora = ground.matched.refusal, ground.lora
    assert refusal is not None
    places = ground.parsed.places
    if lora.target_modules is None and lora.target_parameters is None:
        message = f"PEFT's default targets do not exist in {ground.tree.model_class}"
        return at_key(places, ("lora",), NO_DEFAULT_TARGETS, message, "name them: target_modules: [q_proj, v_proj]")
    message = f"PEFT refuses this on {ground.tree.model_class}: {refusal.reason.value}"
    return at_value(
        places, ("lora", "target_modules"), CANNOT_ADAPT, message, "lora-spec plan shows what each entry matches"
    )


def inspect_tokens(ground: Ground) -> Iterator[Diagnostic]:
    """Token indices beyond the rows of their embedding, where PEFT would not refuse them."""
    if ground.matched.refusal is not None:
        return
    for tokens in ground.matched.tokens:
        module = ground.tree.by_name.get(tokens.name)
        rows = (module.shape("weight") if module else None) or ()
        beyond = [index for index in tokens.indices if rows and index >= rows[0]]
        if beyond:
            path = ("lora", "trainable_token_indices")
            message = f"token {beyond[0]} is beyond the {rows[0]} rows of {tokens.name}"
            remedy = f"write ids below {rows[0]}, or resize the embedding first"
            yield at_value(ground.parsed.places, path, TOKEN_OUT_OF_RANGE, message, remedy)
            return


def _told(refusal: Refusal, ground: Ground) -> _Told:
    names = ", ".join(refusal.names[:3]) + (f" and {len(refusal.names) - 3} more" if len(refusal.names) > 3 else "")
    match refusal.reason:
        case Reason.HALF_FUSED:
            message = "gate and up projections of experts are one parameter, and only one of the two is named"
            return _Told(HALF_FUSED, "target_modules", message, "name both, gate_proj and up_proj, or neither")
        case Reason.INDEX_OUT_OF_RANGE:
            path, message = "trainable_token_indices", f"{names}: {refusal.reason.value}"
            return _Told(TOKEN_OUT_OF_RANGE, path, message, "write ids below the size of the vocabulary")
        case Reason.NO_DEFAULT_TARGETS:
            message = f"PEFT has no default targets for {ground.tree.model_type}"
            return _Told(
                NO_DEFAULT_TARGETS,
                "target_modules",
                message,
                "name them: target_modules: [q_proj, k_proj, v_proj, o_proj]",
            )
        case Reason.MAMBA_MODULE:
            message = f"{names} cannot be adapted: {refusal.reason.value}"
            return _Told(
                CANNOT_ADAPT, "target_modules", message, "name other modules of the block, such as in_proj and x_proj"
            )
        case Reason.UNSUPPORTED_MODULE:
            module = ground.tree.by_name.get(refusal.names[0]) if refusal.names else None
            kind = f", a {module.class_name}" if module else ""
            return _Told(
                CANNOT_ADAPT, "target_modules", f"{names}{kind} cannot be adapted", _inner(refusal.names, ground)
            )
    field = _FIELDS.get(refusal.reason, "target_modules")
    message = f"PEFT refuses {names or field}: {refusal.reason.value}"
    return _Told(CANNOT_ADAPT, field, message, _REMEDIES.get(refusal.reason, f"change {field}"))


def _inner(names: tuple[str, ...], ground: Ground) -> str:
    """What can be adapted instead: the linear layers inside, or a name that does not reach it."""
    if not names:
        return "name linear layers"
    inside = sorted({m.name.removeprefix(f"{names[0]}.") for m in ground.tree.below(names[0]) if m.in_out})
    inside = [name for name in inside if name and name != names[0]]
    if inside:
        return f"name what is in it: {', '.join(inside[:6])}"
    return "name linear layers, or a longer ending that does not reach it"


_FIELDS = {
    Reason.PARAMETER_OPTION: "target_parameters",
    Reason.PARAMETER_SHAPE: "target_parameters",
    Reason.PARAMETER_OF_ADAPTED: "target_parameters",
    Reason.PARAMETER_OF_ROOT: "target_parameters",
    Reason.SAVED_CONTAINER: "modules_to_save",
    Reason.SAVED_ADAPTED: "modules_to_save",
    Reason.SAVED_IN_ADAPTER: "modules_to_save",
    Reason.TOKENS_NOT_FOUND: "trainable_token_indices",
    Reason.TOKENS_AND_SAVED: "trainable_token_indices",
    Reason.TOKENS_DIFFER: "trainable_token_indices",
    Reason.TOKENS_MODULE: "trainable_token_indices",
    Reason.NO_LAYERS: "layer_replication",
    Reason.LAYER_OUT_OF_RANGE: "layer_replication",
    Reason.NOT_GENERATIVE: "task_type",
    Reason.EMBEDDING_BIAS: "lora_bias",
    Reason.ATTENTION_DORA: "use_dora",
}

_REMEDIES = {
    Reason.PARAMETER_OPTION: "remove dropout, use_dora and lora_bias, or leave the experts out of the targets",
    Reason.PARAMETER_SHAPE: "name parameters with 2 or 3 dimensions",
    Reason.PARAMETER_OF_ADAPTED: "leave its module out of target_modules, or write target_modules: []",
    Reason.SAVED_CONTAINER: "name a module in it instead",
    Reason.SAVED_ADAPTED: "write a longer ending that hits only what you mean",
    Reason.TOKENS_NOT_FOUND: "name the embedding, such as embed_tokens",
    Reason.NOT_GENERATIVE: "remove task_type, or name a model_class that fits it",
    Reason.LAYER_OUT_OF_RANGE: "write ranges within the model's layers",
    Reason.EMBEDDING_BIAS: "remove lora_bias, or leave the embedding out of the targets",
    Reason.GROUPS: "write a rank that the groups divide",
}


def _cause(refusal: Refusal, field: str, ground: Ground) -> DocumentPath:
    """The entry that reaches the module that PEFT refuses, else the field."""
    listed = getattr(ground.lora, field, None)
    if isinstance(listed, tuple) and refusal.names:
        for index, entry in enumerate(listed):
            if isinstance(entry, str) and any(in_suffix(name, entry) or name == entry for name in refusal.names):
                return ("lora", field, index)
    return ("lora", field)
