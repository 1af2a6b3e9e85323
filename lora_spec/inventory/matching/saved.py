"""Modules trained in full: `modules_to_save`, the heads that a task adds, and what is tied to a saved embedding."""

from __future__ import annotations

from collections.abc import Mapping

from lora_spec.inventory.matching.graph import Node, Role, Tensor, find
from lora_spec.inventory.matching.names import compiled
from lora_spec.inventory.matching.result import Reason, RefusedError, Saved
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.tables import heads_of
from lora_spec.inventory.matching.wrapping import save_module, wrap_all
from lora_spec.inventory.tree import ModuleTree

OUTSIDE = "base_model.model."
"""What stands before a name in a `PeftModel`."""


def save_modules(tree: ModuleTree, root: Node, settings: Settings, places: Mapping[str, int]) -> list[Saved]:
    """The first half of `set_additional_trainable_modules` (PEFT 0.21.2, `utils/other.py`)."""
    saved = _save(root, settings.modules_to_save or (), places)
    if settings.modules_to_tie:
        embedding = find(root, tree.input_embeddings or "")
        if embedding.role is not Role.SAVED:
            raise RefusedError(Reason.TIED_NOT_ADAPTED, "AttributeError", *settings.modules_to_tie)
        weight = embedding.children["modules_to_save"].children["default"].tensors["weight"]
        saved += _save(root, settings.modules_to_tie, _dropped(settings, places), weight)
    return saved


def _dropped(settings: Settings, places: Mapping[str, int]) -> dict[str, int]:
    """The entries that tying took out, by the tied module that each names: it follows the embedding, so they hold."""
    kept = settings.modules_to_save or ()
    return {
        name: place
        for entry, place in places.items()
        if entry not in kept
        for name in settings.modules_to_tie or ()
        if compiled(rf"(^|.*\.){entry}($|\..*)", entry).match(name)
    }


def save_once_more(tree: ModuleTree, root: Node, settings: Settings, places: Mapping[str, int]) -> list[Saved]:
    """What the class of a task does when LoRA is in place (PEFT 0.21.2, `peft_model.py`)."""
    task = settings.task_type
    if task in ("CAUSAL_LM", "SEQ_2_SEQ_LM") and not tree.generates:
        raise RefusedError(Reason.NOT_GENERATIVE, "AttributeError", tree.model_class)
    heads = heads_of(task)
    if not heads:
        return []
    entries = settings.modules_to_save or ()
    entries = entries if task == "SEQ_CLS" else (*entries, *heads)
    return _save(root, entries, places, prefix=OUTSIDE)


def _save(
    root: Node, entries: tuple[str, ...], places: Mapping[str, int], shared: Tensor | None = None, prefix: str = ""
) -> list[Saved]:
    made: dict[str, int] = {}

    def wrap(name: str, node: Node) -> Node:
        wrapper = save_module(name, node, shared)
        copy = wrapper.children["modules_to_save"].children["default"]
        made[name] = 0 if shared else sum(tensor.size for tensor in copy.parameters())
        return wrapper

    names = wrap_all(root, entries, Role.SAVED, wrap, prefix) if entries else []
    return [Saved(name, places.get(entry), made[name]) for name, entry in names if name in made]
