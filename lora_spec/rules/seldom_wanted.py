"""What PEFT does as it is written, and is seldom wanted on this model."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.layout import (
    LANGUAGE,
    PROJECTOR,
    layer_of,
    regex_for_inside,
    tower_of,
    tower_root,
)
from lora_spec.inventory.matching import Entry
from lora_spec.inventory.tree import Kind
from lora_spec.rules import ranks, routers
from lora_spec.rules.coverage import LOW_COVERAGE, PARTIAL_COVERAGE, inspect_coverage
from lora_spec.rules.dead_entries import exclusions_as_regex
from lora_spec.rules.ground import Ground, some
from lora_spec.spec.places import at_value
from lora_spec.spec.wording import counted

TIE_BROKEN = Rule(
    "LS210",
    "tie-broken",
    Severity.WARNING,
    "The model's head and its input embedding are one tensor. An adapter on either is merged into both, with "
    "ensure_weight_tying too: the merged model gives other outputs than training saw. Saving one of them in full unties "
    "them, unless ensure_weight_tying keeps both.",
    "base_model: Qwen/Qwen2.5-0.5B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, lm_head]}",
    "base_model: Qwen/Qwen2.5-0.5B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
NOTHING_TO_TIE = Rule(
    "LS211",
    "nothing-to-tie",
    Severity.WARNING,
    "ensure_weight_tying keeps tied embeddings tied while one of them trains. On a model that does not tie them, or "
    "with neither of them in a list, it does nothing.",
    "base_model: Qwen/Qwen2.5-7B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj], ensure_weight_tying: true}",
    "base_model: Qwen/Qwen2.5-7B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
TOWER_ADAPTED = Rule(
    "LS220",
    "tower-adapted",
    Severity.WARNING,
    "Bare names and all-linear reach the vision or audio tower as well as the language model. Servers drop or refuse "
    "that part of an adapter, and text-only training never reaches it.",
    "base_model: Qwen/Qwen2.5-VL-7B-Instruct\nlora: {rank: 16, alpha: 32, target_modules: all-linear}",
    r"""base_model: Qwen/Qwen2.5-VL-7B-Instruct
lora: {rank: 16, alpha: 32, target_modules: all-linear, exclude_modules: {regex: '.*\.visual\..*'}}""",
)
QUANTIZED_EXPERTS = Rule(
    "LS222",
    "quantized-experts",
    Severity.WARNING,
    "The checkpoint's experts are packed. target_parameters needs them unpacked (in transformers: the quantization "
    "config with dequantize=True), which takes several times the memory.",
    "base_model: openai/gpt-oss-20b\nlora: {rank: 16, alpha: 32, target_modules: [q_proj], target_parameters: [experts.down_proj]}",
    "base_model: openai/gpt-oss-20b\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj, o_proj]}",
)
QUANTIZED_BASE = Rule(
    "LS223",
    "quantized-base",
    Severity.WARNING,
    "The checkpoint is in 8-bit floating point, in which transformers' Trainer refuses to train and most kernels have "
    "no backward pass. It takes a bfloat16 copy of the checkpoint, or loading it dequantised.",
    "base_model: deepseek-ai/DeepSeek-V3\nlora: {rank: 16, alpha: 32, target_modules: [q_a_proj, q_b_proj, o_proj]}",
    "base_model: deepseek-ai/DeepSeek-V2-Lite\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, o_proj]}",
)
OUTSIDE_LAYERS = Rule(
    "LS227",
    "outside-the-layers",
    Severity.INFO,
    "layers_to_transform selects among numbered layers. A target that is named in full, such as lm_head, is adapted "
    "whatever it says.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, lm_head], layers_to_transform: [0], ensure_weight_tying: true}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], layers_to_transform: [0]}",
)
FAN_IN_FAN_OUT = Rule(
    "LS229",
    "fan-in-fan-out-ignored",
    Severity.WARNING,
    "PEFT takes fan_in_fan_out from the class of each layer, true for Conv1D (GPT-2) and false for Linear, and puts "
    "aside what the file says.",
    "base_model: openai-community/gpt2\nlora: {rank: 16, alpha: 32, target_modules: [c_attn], fan_in_fan_out: false}",
    "base_model: openai-community/gpt2\nlora: {rank: 16, alpha: 32, target_modules: [c_attn]}",
)
HEAD_NOT_TRAINED = Rule(
    "LS228",
    "head-not-trained",
    Severity.ERROR,
    "The head of a classifier starts random. Unless it trains and is saved, with the task type of the class or in "
    "modules_to_save, evaluation is right in the session and random after the adapter is loaded again.",
    "base_model: tiny-qwen2\nmodel_class: Qwen2ForSequenceClassification\n"
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], task_type: FEATURE_EXTRACTION}",
    "base_model: tiny-qwen2\nmodel_class: Qwen2ForSequenceClassification\n"
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
TASK_OF_ANOTHER_CLASS = Rule(
    "LS235",
    "task-of-another-class",
    Severity.WARNING,
    "With SEQ_CLS and TOKEN_CLS PEFT trains and saves the head of a classifier, score or classifier. A model for text "
    "generation has none: nothing classifies. SEQ_2_SEQ_LM passes inputs that only an encoder-decoder takes.",
    "base_model: tiny-qwen2\nlora: {rank: 16, alpha: 32, target_modules: [q_proj], task_type: SEQ_CLS}",
    "base_model: tiny-qwen2\nmodel_class: Qwen2ForSequenceClassification\n"
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], task_type: SEQ_CLS}",
)
BIAS_WITHOUT_BIAS = Rule(
    "LS224",
    "bias-without-bias",
    Severity.WARNING,
    "lora_bias is meant for layers that have a bias, which it is merged into. On others merging the adapter fails.",
    "base_model: Qwen/Qwen3-8B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj], lora_bias: true}",
    "base_model: Qwen/Qwen3-8B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
CONVOLUTION_ADAPTED = Rule(
    "LS226",
    "convolution-adapted",
    Severity.WARNING,
    "The name also reaches a convolution, such as the patch embedding of a vision tower. PEFT adapts it without a word.",
    "base_model: Qwen/Qwen2.5-VL-7B-Instruct\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, proj]}",
    "base_model: Qwen/Qwen2.5-VL-7B-Instruct\nlora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)
RULES = (
    TIE_BROKEN,
    NOTHING_TO_TIE,
    *ranks.RULES,
    *routers.RULES,
    TOWER_ADAPTED,
    LOW_COVERAGE,
    PARTIAL_COVERAGE,
    QUANTIZED_EXPERTS,
    QUANTIZED_BASE,
    HEAD_NOT_TRAINED,
    TASK_OF_ANOTHER_CLASS,
    BIAS_WITHOUT_BIAS,
    CONVOLUTION_ADAPTED,
    OUTSIDE_LAYERS,
    FAN_IN_FAN_OUT,
)

PACKED = ("mxfp4", "gptq", "awq", "bitsandbytes", "compressed-tensors")
"""Quantisation methods that pack several weights into one element."""


def inspect_seldom_wanted(ground: Ground) -> Iterator[Diagnostic]:
    """Everything of the kind; nothing where PEFT refuses, which is told elsewhere."""
    if ground.matched.refusal is not None:
        return
    yield from _ties(ground)
    yield from ranks.inspect_ranks(ground)
    yield from ranks.inspect_fused(ground)
    yield from _places_reached(ground)
    yield from inspect_coverage(ground)
    if ground.tree.quantization in PACKED and any(a.experts > 1 for a in ground.matched.parameters):
        message = f"the experts of this {ground.tree.quantization} checkpoint are packed and have to be unpacked to be adapted"
        remedy = "load the base model dequantised, which takes several times the memory, or leave the experts out"
        yield at_value(ground.parsed.places, _parameters_path(ground), QUANTIZED_EXPERTS, message, remedy)
    elif ground.tree.quantization == "fp8":
        message = (
            f"{ground.parsed.places.name(('base_model',))} is an fp8 checkpoint, which cannot be trained on as it is"
        )
        yield at_value(ground.parsed.places, ("base_model",), QUANTIZED_BASE, message, "load a bfloat16 copy of it")
    yield from _head(ground)
    yield from _task(ground)
    yield from _outside_layers(ground)
    yield from _fan_in_fan_out(ground)
    if ground.lora.lora_bias:
        bare = [a.name for a in ground.matched.modules if ground.tree.by_name[a.name].shape("bias") is None]
        if bare:
            message = f"lora_bias on {some(bare)}: there is no bias to merge it into"
            yield at_value(ground.parsed.places, ("lora", "lora_bias"), BIAS_WITHOUT_BIAS, message, "remove lora_bias")


def _outside_layers(ground: Ground) -> Iterator[Diagnostic]:
    """Targets in no numbered layer, where the file selects layers."""
    layers = ground.lora.layers_to_transform
    if layers is None or not ground.parsed.knows(("lora", "layers_to_transform")):
        return
    for entry, path in ground.entries("target_modules"):
        outside = [name for name in entry.effect if layer_of(name) is None]
        if outside:
            message = f"{outside[0]} is adapted although layers_to_transform selects layers: it is in none"
            yield at_value(ground.parsed.places, path, OUTSIDE_LAYERS, message, "leave it out if it is not meant")


def _fan_in_fan_out(ground: Ground) -> Iterator[Diagnostic]:
    """fan_in_fan_out against the class of the layers (peft.tuners.lora.model, dispatch_default, PEFT 0.21.2)."""
    path = ("lora", "fan_in_fan_out")
    if "fan_in_fan_out" not in ground.lora.model_fields_set or not ground.parsed.knows(path):
        return
    said = ground.lora.fan_in_fan_out
    against = [a for a in ground.matched.modules if a.kind is (Kind.LINEAR if said else Kind.CONV1D)]
    if against:
        layer = "a linear layer" if said else "a Conv1D"
        message = f"fan_in_fan_out has no effect on {against[0].name}, {layer}: PEFT goes by the class"
        yield at_value(ground.parsed.places, path, FAN_IN_FAN_OUT, message, "remove it")


CLASSIFIERS = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification"}


def _task(ground: Ground) -> Iterator[Diagnostic]:
    """A classifier's task on a model that has no such head."""
    path, task = ("lora", "task_type"), ground.lora.task_type
    if task == "SEQ_2_SEQ_LM" and ground.tree.model_class.endswith("ForCausalLM") and ground.parsed.knows(path):
        message = f"task_type SEQ_2_SEQ_LM is for encoder-decoders, and {ground.tree.model_class} is a decoder"
        yield at_value(ground.parsed.places, path, TASK_OF_ANOTHER_CLASS, message, "write task_type: CAUSAL_LM")
    ending = CLASSIFIERS.get(str(task or ""))
    if ending is None or not ground.parsed.knows(path):
        return
    heads = [m.name for m in ground.tree.modules if m.name in ("score", "classifier")]
    if not heads:
        message = f"task_type {task} trains the head of a classifier, and {ground.tree.model_class} has none"
        named = f"{ground.tree.model_class.removesuffix('ForCausalLM')}{ending}"
        yield at_value(ground.parsed.places, path, TASK_OF_ANOTHER_CLASS, message, f"add model_class: {named}")


def _head(ground: Ground) -> Iterator[Diagnostic]:
    """A classifier's head that stays as it is."""
    if not ground.tree.model_class.endswith(("ForSequenceClassification", "ForTokenClassification")):
        return
    heads = [
        m.name for m in ground.tree.modules if m.name in ("score", "classifier") and list(ground.tree.below(m.name))
    ]
    trains = {a.name for a in ground.matched.modules} | {s.name for s in ground.matched.saved}
    for head in heads:
        if not any(name == head or name.startswith(f"{head}.") for name in trains):
            message = f"the head {head} is neither trained nor saved"
            remedy = f"remove task_type, which then follows the class, or add modules_to_save: [{head}]"
            yield at_value(ground.parsed.places, ("lora", "task_type"), HEAD_NOT_TRAINED, message, remedy)


def _parameters_path(ground: Ground) -> tuple[str, str]:
    return ("lora", "target_parameters" if ground.lora.target_parameters else "target_modules")


def _ties(ground: Ground) -> Iterator[Diagnostic]:
    tied = {*ground.tree.tied_modules, *([ground.tree.input_embeddings] if ground.tree.tied_modules else [])}
    reached = [a.name for a in ground.matched.modules if a.name in tied]
    saved = [s.name for s in ground.matched.saved if s.name in tied]
    places = ground.parsed.places
    if reached:
        message = f"{reached[0]} is tied to {_partner(reached[0], tied)}: merging its adapter changes both"
        yield at_value(places, ("lora", "target_modules"), TIE_BROKEN, message, _without_a_merge(ground))
    elif saved and not ground.lora.ensure_weight_tying:
        message = f"{saved[0]} is tied to {_partner(saved[0], tied)}, and training it unties them"
        remedy = "add ensure_weight_tying: true, or leave it out"
        yield at_value(places, ("lora", "modules_to_save"), TIE_BROKEN, message, remedy)
    if ground.lora.ensure_weight_tying and not (
        ground.tree.tied_modules and (reached or saved or ground.matched.tokens)
    ):
        why = "neither embedding trains" if ground.tree.tied_modules else "the model does not tie its embeddings"
        message = f"ensure_weight_tying has no effect: {why}"
        yield at_value(places, ("lora", "ensure_weight_tying"), NOTHING_TO_TIE, message, "remove it")


def _without_a_merge(ground: Ground) -> str:
    """What helps against a delta in a tensor that two modules share (tried on PEFT 0.21.2: weight tying does not)."""
    if ground.parsed.dialect != "lora-spec" or ground.lora.modules_to_save or not ground.tree.input_embeddings:
        return "leave it out, or never merge the adapter"
    embedding = ground.parsed.places.spelled([ground.tree.input_embeddings.rpartition(".")[2]])
    return f"leave it out; to train both in full write modules_to_save: {embedding}, ensure_weight_tying: true instead"


def _partner(name: str, tied: set[str | None]) -> str:
    return next((other for other in sorted(filter(None, tied)) if other != name), "the embedding")


def _places_reached(ground: Ground) -> Iterator[Diagnostic]:
    """Routers, towers and convolutions that names or all-linear reach; a regex or a full path says what it means."""
    everything = {a.name: a for a in (*ground.reached.modules, *ground.reached.parameters)}
    yield from _towers(ground)
    for entry, path in _names_and_words(ground):
        adapted = [everything[name] for name in entry.effect if name in everything]
        yield from routers.inspect_routers(entry.entry, adapted, path, ground)
        convolutions = [a.name for a in adapted if a.kind is Kind.CONV]
        if convolutions and (len(convolutions) < len(adapted) or "." not in entry.entry):
            message = f"{entry.entry} also adapts the convolution {convolutions[0]}"
            remedy = "write a longer ending that does not reach it"
            yield at_value(ground.parsed.places, path, CONVOLUTION_ADAPTED, message, remedy)


def _names_and_words(ground: Ground) -> Iterator[tuple[Entry, DocumentPath]]:
    for entry, path in ground.entries("target_modules"):
        if entry.place is not None or entry.entry.lower() == "all-linear":
            yield entry, path


def _towers(ground: Ground) -> Iterator[Diagnostic]:
    """Towers that entries reach beside the language model: one message a tower, at the first of them."""
    reached: dict[str, list[tuple[Entry, DocumentPath, list[str]]]] = {}
    for entry, path in _names_and_words(ground):
        by_tower: dict[str, list[str]] = {}
        for name in entry.effect:
            by_tower.setdefault(tower_of(name), []).append(name)
        if LANGUAGE in by_tower and "." not in entry.entry:
            for tower in by_tower.keys() - {LANGUAGE, PROJECTOR}:
                reached.setdefault(tower, []).append((entry, path, by_tower[tower]))
    for tower, entries in sorted(reached.items()):
        root = tower_root(tower, ground.names)
        if root is None or _meant_to_be_excluded(root, tower, ground):
            continue
        said = ", ".join(entry.entry for entry, _, _ in entries)
        names = [name for _, _, names in entries for name in names]
        verb = "adapts" if len(entries) == 1 else "adapt"
        message = f"{said} also {verb} {counted(len(names), 'module')} of the {tower} tower, such as {names[0]}"
        regex = exclusions_as_regex(ground, regex_for_inside(root))
        value = {"regex": regex} if ground.parsed.dialect == "lora-spec" else regex
        alone = [entry.entry for entry, _ in _names_and_words(ground) if {tower_of(n) for n in entry.effect} == {tower}]
        first = f"leave it out: remove {', '.join(alone)}, and write" if alone else "leave it out with"
        remedy = f"{first} exclude_modules: {ground.parsed.places.spelled(value)}"
        yield at_value(ground.parsed.places, entries[0][1], TOWER_ADAPTED, message, remedy)


def _meant_to_be_excluded(root: str, tower: str, ground: Ground) -> bool:
    """Whether an exclusion means the tower and excludes nothing, which is told there."""
    dead = [entry for entry in ground.matched.of("exclude_modules") if not entry.effect]
    return any(root in entry.names or tower_of(entry.entry) == tower for entry in dead)
