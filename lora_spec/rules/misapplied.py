"""Entries that reach something else than they say, or less."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, Rule, Severity
from lora_spec.inventory.layout import layer_of
from lora_spec.inventory.matching import Entry
from lora_spec.rules.ground import Ground, in_suffix, some
from lora_spec.rules.leaving_out import leaving_out
from lora_spec.spec.places import at_value
from lora_spec.spec.wording import yaml_text

SAVED_BY_SUFFIX = Rule(
    "LS208",
    "saved-by-suffix",
    Severity.ERROR,
    "PEFT trains in full every module whose name ends in the text, even in the middle of a word: norm also hits every "
    "input_layernorm. Far more of the base model would train, and be saved, than the file says.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], modules_to_save: [norm]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], modules_to_save: [model.norm]}",
)
TARGET_SWALLOWED = Rule(
    "LS209",
    "target-swallowed",
    Severity.ERROR,
    "What modules_to_save or exclude_modules reaches gets no adapter, and PEFT does not say so.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, down_proj], modules_to_save: [mlp]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], modules_to_save: [mlp]}",
)
TARGET_DROPPED = Rule(
    "LS215",
    "target-dropped",
    Severity.ERROR,
    "On some mixture-of-experts models PEFT turns the names of expert projections into fused parameters. Everything "
    "else of that name, dense layers and shared experts, then gets no adapter.",
    "model: {path: deepseek-ai/DeepSeek-V2-Lite, lora_rank: 16, target_modules: [shared_experts.down_proj, q_proj]}",
    "model: {path: deepseek-ai/DeepSeek-V2-Lite, lora_rank: 16, target_modules: [q_proj]}",
)
TARGET_WIDENED = Rule(
    "LS216",
    "target-widened",
    Severity.ERROR,
    "PEFT reduces names and regexes on these mixture-of-experts models to their last segment: layer numbers and paths "
    "are lost, and modules or experts are adapted that the file does not name.",
    r"""model:
  path: Qwen/Qwen3-30B-A3B
  lora_rank: 16
  target_modules: 'model\.layers\.[0-3]\.self_attn\.q_proj'""",
    """model:
  path: Qwen/Qwen3-30B-A3B
  lora_rank: 16
  target_modules: [layers.0.self_attn.q_proj, layers.1.self_attn.q_proj]""",
)
LAYERS_MISS_EXPERTS = Rule(
    "LS214",
    "layers-miss-experts",
    Severity.ERROR,
    "A selection of layers holds for modules alone. Experts are adapted as parameters, in every layer.",
    "LoraConfig(target_modules=['q_proj', 'gate_proj', 'up_proj'], layers_to_transform=[0, 1])   # on Qwen3-MoE",
    "LoraConfig(target_modules=['q_proj'], layers_to_transform=[0, 1])",
)
FORWARD_BREAKS = Rule(
    "LS233",
    "forward-breaks",
    Severity.ERROR,
    "PEFT adapts every subclass of a linear layer. A router that returns more than one value is one by its class only: "
    "the first forward pass through its adapter fails.",
    "base_model: meta-llama/Llama-4-Scout-17B-16E-Instruct\nlora: {rank: 16, alpha: 32, target_modules: all-linear}",
    "base_model: meta-llama/Llama-4-Scout-17B-16E-Instruct\n"
    "lora: {rank: 16, alpha: 32, target_modules: all-linear, exclude_modules: [router]}",
)
RULES = (SAVED_BY_SUFFIX, TARGET_SWALLOWED, LAYERS_MISS_EXPERTS, TARGET_DROPPED, TARGET_WIDENED, FORWARD_BREAKS)

RETURN_MORE = {"Llama4Router"}
"""Subclasses of Linear in transformers 5.24 whose forward returns more than a tensor."""


def inspect_misapplied(ground: Ground) -> Iterator[Diagnostic]:
    """Entries whose effect is not what they say."""
    yield from _saved(ground)
    if ground.matched.refusal is None:
        yield from _layers(ground)
        for entry, path in ground.entries("target_modules"):
            yield from _target(entry, path, ground)


def _layers(ground: Ground) -> Iterator[Diagnostic]:
    """Experts outside the selected layers."""
    selected = ground.lora.layers_to_transform
    if not selected or not ground.lora.target_modules:
        return
    beyond = [p.name for p in ground.matched.parameters if layer_of(p.name) not in (*selected, None)]
    if beyond:
        message = f"layers_to_transform does not reach experts: {some(beyond)} are adapted too"
        remedy = "name the experts with their layers in target_parameters: layers.0.mlp.experts.down_proj"
        yield at_value(ground.parsed.places, ("lora", "layers_to_transform"), LAYERS_MISS_EXPERTS, message, remedy)


def _saved(ground: Ground) -> Iterator[Diagnostic]:
    for entry, path in ground.entries("modules_to_save"):
        stray = [name for name in entry.names if not in_suffix(name, entry.entry)]
        if not stray:
            continue
        places = ground.parsed.places
        meant = [name for name in entry.names if in_suffix(name, entry.entry)]
        message = f"{yaml_text(entry.entry)} also hits {some(stray)}: every name that ends in it is trained in full"
        alone = next((name for name in meant if not any(n != name and n.endswith(name) for n in entry.names)), None)
        remedy = f"write {alone}" if alone else "write a longer ending that hits only what you mean"
        yield at_value(places, path, SAVED_BY_SUFFIX, message, remedy, places.replacement(path, alone) if alone else ())


def _target(entry: Entry, path: tuple[str | int, ...], ground: Ground) -> Iterator[Diagnostic]:
    breaking = [n for n in entry.effect if (m := ground.tree.by_name.get(n)) and m.class_name in RETURN_MORE]
    if breaking:
        kind = ground.tree.by_name[breaking[0]].class_name
        verb = "is" if len(breaking) == 1 else "are"
        message = f"the forward pass fails once {some(breaking)} {verb} adapted: a {kind} returns more than one value"
        without = None if set(breaking) == set(entry.effect) else leaving_out(breaking, ground)
        remedy = f"leave it out: write {without}" if without else f"remove {entry.entry}"
        yield at_value(ground.parsed.places, path, FORWARD_BREAKS, message, remedy)
    named, reached = set(entry.names), set(entry.effect)
    taken = named & _taken(ground)
    if named and not reached and taken == named and not _stands_twice(entry, ground):
        verb = "is" if len(taken) == 1 else "are"
        message = f"{_said(entry)} gets no adapter: {some(sorted(taken))} {verb} excluded or trained in full"
        yield at_value(ground.parsed.places, path, TARGET_SWALLOWED, message, "keep it in one of the lists")
        return
    by_parameter = {name.rpartition(".")[0] for name in reached}
    dropped = named - reached - by_parameter - taken - _outside_layers(named, ground) - _other_entries(entry, ground)
    converted = any(entry.entry in adapted.converted_from for adapted in ground.matched.parameters)
    if dropped and (converted or entry.place is None):
        message = f"{_said(entry)} leaves out {some(sorted(dropped))}: PEFT takes the name for the routed experts'"
        weight = f"{min(dropped)}.weight"
        remedy = f"name what is left out by its weight, without dropout: target_parameters: [{weight}, …]"
        yield at_value(ground.parsed.places, path, TARGET_DROPPED, message, remedy)
    widened = sorted(reached - named) if _is_exact(entry) else []
    if widened:
        message = (
            f"{_said(entry)} also adapts {some(widened)}: PEFT goes by the last segment on {ground.tree.model_type}"
        )
        remedy = "name modules in a list, with layers_to_transform, or experts in target_parameters"
        yield at_value(ground.parsed.places, path, TARGET_WIDENED, message, remedy)


def _stands_twice(entry: Entry, ground: Ground) -> bool:
    """Whether the same name stands in another list, which is told there."""
    others = (ground.lora.modules_to_save, ground.lora.exclude_modules)
    return any(entry.entry in names for names in others if isinstance(names, tuple))


def _said(entry: Entry) -> str:
    return entry.entry if entry.place is not None or entry.entry.lower() == "all-linear" else f"the regex {entry.entry}"


def _taken(ground: Ground) -> set[str]:
    """Modules that an exclusion or modules_to_save took."""
    taken = {
        name for field in ("exclude_modules", "modules_to_save") for e in ground.matched.of(field) for name in e.effect
    }
    saved = {name for e in ground.matched.of("modules_to_save") for name in e.names}
    return taken | saved


def _outside_layers(names: set[str], ground: Ground) -> set[str]:
    """What a layer selection leaves out on purpose."""
    if not ground.lora.layers_to_transform:
        return set()
    return names - {name for e in ground.matched.of("layers_to_transform") for name in e.effect}


def _other_entries(entry: Entry, ground: Ground) -> set[str]:
    return {n for e in ground.matched.of("target_modules") if e.place != entry.place for n in e.effect}


def _is_exact(entry: Entry) -> bool:
    """Whether the entry says just what it reaches: a plain last segment speaks of experts too."""
    if entry.entry.lower() == "all-linear":
        return False
    if entry.place is None:
        return True
    return "." in entry.entry and "experts" not in entry.entry
