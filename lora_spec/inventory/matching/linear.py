"""What `all-linear` stands for: `_maybe_include_all_linear_layers` (PEFT 0.21.2, `tuners/tuners_utils.py`)."""

from __future__ import annotations

from typing import Any, TypeGuard

from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.tables import classifier_names
from lora_spec.inventory.tree import Kind, ModuleTree

ALL_LINEAR = "all-linear"


def is_all_linear(targets: Any) -> TypeGuard[str]:
    """Whether ``targets`` is the word, in any case."""
    return isinstance(targets, str) and targets.lower() == ALL_LINEAR


def linear_modules(tree: ModuleTree, settings: Settings) -> tuple[str, ...]:
    """The linear layers by full name, without the output head."""
    left_out = _head(tree, settings)
    linear = (module.name for module in tree.modules if module.kind in (Kind.LINEAR, Kind.CONV1D))
    return tuple(name for name in linear if name != left_out)


def _head(tree: ModuleTree, settings: Settings) -> str | None:
    if not tree.is_pretrained_model:
        return None
    if tree.output_embeddings is not None:
        return tree.output_embeddings
    if settings.task_type != "SEQ_CLS":
        return None
    head = next((name for name in classifier_names() if name in tree.by_name or name in tree.aliases), None)
    return tree.aliases.get(head, head) if head else None
