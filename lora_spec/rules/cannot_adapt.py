"""What PEFT refuses on this model, told before the weights are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.layout import layer_ranges
from lora_spec.inventory.matching import Reason, Refusal, match
from lora_spec.planning.starting_point import starting_targets
from lora_spec.rules.ground import Ground, in_suffix
from lora_spec.rules.instead import ended_in_layers, instead
from lora_spec.rules.leaving_out import leaving_out
from lora_spec.spec.places import at_key, at_value
from lora_spec.spec.targets import Regex
from lora_spec.spec.wording import with_article

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
    """How a refusal is told: the field that it is shown at, the message and the remedy, with what is in braces filled."""

    field: str
    message: str
    remedy: str
    rule: Rule = CANNOT_ADAPT


SAID_ELSEWHERE = {Reason.NOTHING_MATCHED, Reason.ALL_EXCLUDED, Reason.ARGUMENTS, Reason.BAD_REGEX}
"""Reasons that other rules tell entry by entry, or that the schema has told."""

OF_SETTINGS = {
    Reason.PARAMETER_OPTION,
    Reason.VARIANT,
    Reason.EMBEDDING_BIAS,
    Reason.TOKENS_AND_SAVED,
    Reason.TOKENS_DIFFER,
    Reason.TIED_NOT_ADAPTED,
}
"""Reasons that lie in settings which do not go together, of which the schema has told those that need no model."""


def inspect_refusal(ground: Ground) -> Iterator[Diagnostic]:
    """PEFT's refusals, each at the entry that causes it: without that entry it would come to the next one."""
    refusal, arguments = ground.matched.refusal, dict(ground.arguments)
    while refusal is not None and refusal.reason not in SAID_ELSEWHERE:
        if not ground.sound and refusal.reason in OF_SETTINGS:
            return
        told = _told(refusal, ground)
        path = _cause(refusal, told.field, ground)
        if ground.parsed.knows(path):
            yield _diagnostic(refusal, told, path, ground)
        remaining = _without(arguments, path, ground)
        if remaining is None:
            return
        arguments = remaining
        refusal = match(ground.tree, arguments).refusal


def _told(refusal: Refusal, ground: Ground) -> _Told:
    """How it is told; PEFT has one reason for a module to be saved and for tokens of it to be trained."""
    saved = ground.lora.modules_to_save or ()
    is_saved = any(name.endswith(entry) for name in refusal.names for entry in saved)
    if refusal.reason is Reason.SAVED_ADAPTED and ground.lora.trainable_token_indices and not is_saved:
        return _TOKENS_OF_ADAPTED
    return _TOLD[refusal.reason]


def _without(arguments: dict[str, object], path: DocumentPath, ground: Ground) -> dict[str, object] | None:
    """The arguments without the entry of target_modules at ``path``; None where it is none, or the last one."""
    listed = arguments.get("target_modules")
    targets = ground.lora.target_modules
    if path[:2] != ("lora", "target_modules") or len(path) != 3 or not isinstance(listed, list):
        return None
    assert isinstance(targets, tuple)
    assert isinstance(path[2], int)
    remaining = [name for name in listed if name != targets[path[2]]]
    return {**arguments, "target_modules": remaining} if remaining and len(remaining) < len(listed) else None


def nothing_else_told(ground: Ground) -> Diagnostic:
    """A refusal that no entry explains, such as defaults that the model does not have."""
    refusal, lora = ground.matched.refusal, ground.lora
    assert refusal is not None
    places = ground.parsed.places
    if lora.target_modules is None and lora.target_parameters is None:
        message = f"PEFT's default targets do not exist in {ground.tree.model_class}"
        return at_key(places, ("lora",), NO_DEFAULT_TARGETS, message, _defaults(ground))
    if refusal.reason is Reason.ALL_EXCLUDED:
        field = "exclude_modules" if ground.matched.excluded else "modules_to_save"
        message = f"{field} takes away all that target_modules names: nothing is left to adapt"
        return at_value(places, ("lora", field), CANNOT_ADAPT, message, "leave out less, or name more targets")
    if refusal.reason is Reason.ARGUMENTS and isinstance(lora.target_modules, Regex):
        message = "the regex also matches whole blocks, or the model itself, which cannot be adapted"
        return at_value(places, ("lora", "target_modules"), CANNOT_ADAPT, message, ended_in_layers([], ground))
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


def _diagnostic(refusal: Refusal, told: _Told, path: DocumentPath, ground: Ground) -> Diagnostic:
    words = _words(refusal, ground)
    places = ground.parsed.places
    return at_value(places, path, told.rule, told.message.format(**words), told.remedy.format(**words))


def _words(refusal: Refusal, ground: Ground) -> dict[str, str]:
    """What the braces of a message stand for."""
    first = refusal.names[0] if refusal.names else ""
    module = ground.tree.by_name.get(first)
    return {
        "first": first,
        "rest": ", ".join(_native(name) for name in refusal.names[1:4]),
        "names": ", ".join(refusal.names[:3])
        + (f" and {len(refusal.names) - 3} more" if len(refusal.names) > 3 else ""),
        "pair": " and ".join(dict.fromkeys(name.rpartition(".")[2] for name in refusal.names)),
        "kind": with_article(module.class_name if module else "module"),
        "model": ground.tree.model_class,
        "type": ground.tree.model_type,
        "defaults": _defaults(ground) if refusal.reason is Reason.NO_DEFAULT_TARGETS else "",
        "inner": instead(first, ground),
        "without": _without_it(refusal, ground),
        "rows": _rows(first, ground),
        "layers": layer_ranges(ground.names) or "none",
    }


def _native(option: str) -> str:
    return {"lora_dropout": "dropout"}.get(option, option)


def _rows(name: str, ground: Ground) -> str:
    module = ground.tree.by_name.get(name)
    shape = module.shape("weight") if module else None
    return str(shape[0]) if shape else "the size of the vocabulary"


def _defaults(ground: Ground) -> str:
    """Targets to start with, of those that the model has."""
    start = starting_targets(ground.tree)
    value = {"regex": start.regex} if start.regex and ground.parsed.dialect == "lora-spec" else start.regex
    return f"name them: target_modules: {ground.parsed.places.spelled(value or list(start.names))}"


def _without_it(refusal: Refusal, ground: Ground) -> str:
    """How to leave out what a regex or all-linear reaches; nothing for a name, which is removed."""
    if refusal.reason is not Reason.MAMBA_MODULE or isinstance(ground.lora.target_modules, tuple):
        return ""
    setting = leaving_out(refusal.names, ground)
    return f": write {setting}" if setting else ""


_TOLD = {
    Reason.HALF_FUSED: _Told(
        "target_modules",
        "gate and up projections of experts are one parameter, and only one of the two is named",
        "name both, {pair}, or neither",
        HALF_FUSED,
    ),
    Reason.NO_DEFAULT_TARGETS: _Told(
        "target_modules",
        "PEFT has no default targets for {type}",
        "{defaults}",
        NO_DEFAULT_TARGETS,
    ),
    Reason.INDEX_OUT_OF_RANGE: _Told(
        "trainable_token_indices",
        "token {rest} is beyond the {rows} rows of {first}",
        "write ids below {rows}, or resize the embedding first",
        TOKEN_OUT_OF_RANGE,
    ),
    Reason.UNSUPPORTED_MODULE: _Told("target_modules", "{names}, {kind}, cannot be adapted", "{inner}"),
    Reason.MAMBA_MODULE: _Told(
        "target_modules",
        "{names} cannot be adapted: the kernel of a Mamba block reads its weight past an adapter",
        "leave it out{without}; in_proj of the block can be adapted",
    ),
    Reason.GROUPS: _Told(
        "target_modules",
        "{names}, a grouped convolution, cannot be adapted at this rank: its groups do not divide it",
        "leave it out{without}",
    ),
    Reason.CONVOLUTION: _Told(
        "target_modules", "{names}, {kind}, cannot be adapted: PEFT cannot build another one like it", "leave it out"
    ),
    Reason.VARIANT: _Told(
        "target_modules",
        "{names}, {kind}, takes plain LoRA only, not this variant or init",
        "remove the variant or the init, or leave it out",
    ),
    Reason.EMBEDDING_BIAS: _Told(
        "lora_bias", "lora_bias does not work on the embedding {first}", "remove lora_bias, or leave the embedding out"
    ),
    Reason.ATTENTION_WIDTHS: _Told(
        "target_modules",
        "{names} cannot be adapted: its query, key and value differ in width",
        "name the linear layers around it",
    ),
    Reason.ATTENTION_DORA: _Told(
        "use_dora",
        "use_dora does not work on {first}, PyTorch's multi-head attention",
        "remove use_dora, or leave it out",
    ),
    Reason.PARAMETER_OPTION: _Told(
        "target_modules",
        "{rest} does not work on experts that are one parameter, such as {first}",
        "remove {rest}, or leave the experts out of the targets",
    ),
    Reason.PARAMETER_SHAPE: _Told(
        "target_parameters", "{first} has neither 2 nor 3 dimensions", "name parameters that have"
    ),
    Reason.PARAMETER_OF_ADAPTED: _Told(
        "target_parameters",
        "{first} belongs to a module that is adapted itself",
        "leave its module out of target_modules, or write target_modules: []",
    ),
    Reason.PARAMETER_OF_ROOT: _Told(
        "target_parameters",
        "{first} is a parameter of {model} itself, which PEFT cannot adapt",
        "name a parameter of a module",
    ),
    Reason.SAVED_CONTAINER: _Told(
        "modules_to_save", "{first} is {kind}, which cannot be saved in full", "name a module in it instead"
    ),
    Reason.SAVED_ADAPTED: _Told(
        "modules_to_save",
        "{first} is to be saved in full, and is adapted too",
        "write a longer ending that hits only what you mean",
    ),
    Reason.SAVED_IN_ADAPTER: _Told(
        "modules_to_save",
        "{names} would also reach into the adapter itself",
        "write a longer ending that hits only what you mean",
    ),
    Reason.TOKENS_NOT_FOUND: _Told(
        "trainable_token_indices",
        "{names} matches no module of {model}",
        "name the embedding, such as embed_tokens, or give a plain list of ids",
    ),
    Reason.TOKENS_AND_SAVED: _Told(
        "trainable_token_indices",
        "{names}: its tokens are to be trained, and it is saved in full too",
        "keep one of the two",
    ),
    Reason.TOKENS_DIFFER: _Told(
        "trainable_token_indices", "{names} are tied and get different tokens", "give both the same ids"
    ),
    Reason.TOKENS_MODULE: _Told(
        "trainable_token_indices", "{first}, {kind}, is no embedding", "name the embedding, such as embed_tokens"
    ),
    Reason.NO_LAYERS: _Told(
        "layer_replication", "{model} has no list of layers that PEFT can replicate", "remove layer_replication"
    ),
    Reason.LAYER_OUT_OF_RANGE: _Told(
        "layer_replication",
        "there is no layer {names} to replicate: the model has {layers}",
        "write ranges within them; the end of a range is not part of it",
    ),
    Reason.NOT_GENERATIVE: _Told(
        "task_type",
        "{model} cannot generate, as this task does",
        "remove task_type, which then follows the class, or name a model_class that fits it",
    ),
    Reason.TIED_NOT_ADAPTED: _Told(
        "ensure_weight_tying",
        "{names} is tied to an embedding that is not adapted",
        "name the embedding too, or remove ensure_weight_tying",
    ),
    Reason.LOST_MODULE: _Told(
        "target_modules",
        "{names} cannot be reached once the module around it is wrapped",
        "name one of the two, the module or what is in it",
    ),
    Reason.NO_EMBEDDING: _Told(
        "trainable_token_indices", "{model} does not say which module is its embedding", "name it: {{NAME: [ids]}}"
    ),
}
"""How each refusal is told; ``_words`` fills the braces."""


_TOKENS_OF_ADAPTED = _Told(
    "trainable_token_indices",
    "{first}: its tokens are to be trained, and it is adapted too",
    "leave it out of target_modules, or remove trainable_token_indices",
)


def _cause(refusal: Refusal, field: str, ground: Ground) -> DocumentPath:
    """The entry that reaches the module that PEFT refuses, else the field."""
    listed = getattr(ground.lora, field, None)
    if refusal.reason is Reason.PARAMETER_OPTION:
        return ("lora", _native(refusal.names[1]))
    if isinstance(listed, tuple) and refusal.names:
        for index, entry in enumerate(listed):
            if isinstance(entry, str) and any(in_suffix(name, entry) or name == entry for name in refusal.names):
                return ("lora", field, index)
    return ("lora", field)
