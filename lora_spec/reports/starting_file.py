"""The commented file that `init` writes."""

from __future__ import annotations

from lora_spec.planning.starting_point import Targets
from lora_spec.spec.wording import yaml_text


def starting_file(base_model: str, targets: Targets) -> str:
    """A native document with the right targets for the model."""
    value = yaml_text({"regex": targets.regex}) if targets.regex else yaml_text(list(targets.names))
    lines = [
        "# yaml-language-server: $schema=lora-spec.schema.json",
        "# lora-spec schema > lora-spec.schema.json writes the schema that editors use",
        f"base_model: {yaml_text(base_model)}",
        "lora:",
        "  rank: 16",
        "  alpha: 32 # the scale is alpha / rank",
        "  # attention and MLP of the language model; lora-spec plan says what each name reaches",
        f"  target_modules: {value}",
    ]
    if targets.experts:
        lines.append("  # the experts train too with this, and take most of the parameters:")
        lines.append(f"  # target_parameters: {yaml_text(list(targets.experts))}")
    lines += [
        "  dropout: 0.0",
        "prepare:",
        "  dtype: bfloat16 # the frozen weights",
        "  adapter_dtype: float32 # what trains",
        "  gradient_checkpointing: true",
    ]
    return "\n".join(lines) + "\n"
