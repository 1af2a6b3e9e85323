"""How many of the layers the targets reach."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, Rule, Severity
from lora_spec.inventory.layout import LANGUAGE, layer_of, layer_ranges, tower_of
from lora_spec.rules.ground import Ground
from lora_spec.spec.places import at_value

LOW_COVERAGE = Rule(
    "LS221",
    "low-coverage",
    Severity.WARNING,
    "Targets that exist in a few layers of a hybrid model only leave the others as they are: the loss may hardly move.",
    "base_model: nvidia/Nemotron-H-56B-Base-8K\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
    "base_model: nvidia/Nemotron-H-56B-Base-8K\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj, up_proj, down_proj, in_proj]}",
)
PARTIAL_COVERAGE = Rule(
    "LS230",
    "partial-coverage",
    Severity.INFO,
    "Hybrid models have attention in some layers only. Names of attention alone adapt those layers, and leave the "
    "others as they are.",
    "base_model: Qwen/Qwen3-Next-80B-A3B-Instruct\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
    "base_model: Qwen/Qwen3-Next-80B-A3B-Instruct\n"
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj, in_proj_qkvz, out_proj]}",
)

FEW, SOME = 0.2, 0.5
"""Shares of the layers below which a file that selects no layers is warned of what it reaches, or told of it."""


def inspect_coverage(ground: Ground) -> Iterator[Diagnostic]:
    """Layers without any adapter, where the file selects none."""
    lora = ground.lora
    listed = lora.target_modules if isinstance(lora.target_modules, tuple) else ()
    selects = (
        lora.layers_to_transform or lora.layers_pattern or any(layer_of(f".{name}") is not None for name in listed)
    )
    if selects or not isinstance(lora.target_modules, (tuple, type(None))):
        return
    blocks = [
        m.name for m in ground.tree.modules if m.class_name in ground.tree.wrap_classes and tower_of(m.name) == LANGUAGE
    ]
    layers = {layer for name in blocks if (layer := layer_of(name)) is not None}
    names = [a.name for a in (*ground.matched.modules, *ground.matched.parameters) if tower_of(a.name) == LANGUAGE]
    touched = {layer for name in names if (layer := layer_of(name)) is not None}
    share = len(touched & layers) / len(layers) if layers else 1
    if len(layers) > 3 and touched and share < SOME:
        message = f"the targets exist in {len(touched & layers)} of {len(layers)} layers: {layer_ranges(names)}"
        remedy = "name linear layers of the other layers too; lora-spec plan lists them"
        yield at_value(
            ground.parsed.places,
            ("lora", "target_modules"),
            LOW_COVERAGE if share < FEW else PARTIAL_COVERAGE,
            message,
            remedy,
        )
