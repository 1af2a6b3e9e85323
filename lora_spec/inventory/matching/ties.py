"""Weights tied to the input embedding: `BaseTuner._check_tied_modules` and what `LoraModel` does for it (PEFT 0.21.2)."""

from __future__ import annotations

import re

from lora_spec.inventory.matching.graph import Node, Role, find, name_now
from lora_spec.inventory.matching.names import compiled, is_regex
from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.tables import embedding_names
from lora_spec.inventory.tree import ModuleTree


def tie(tree: ModuleTree, settings: Settings) -> Settings:
    """The settings after `_check_tied_modules`. It looks for embeddings by two leaf names, whatever the model's are."""
    if tree.unwrappable:
        raise RefusedError(Reason.NO_EMBEDDING, "NotImplementedError", tree.model_class)
    saves = _names_embedding(settings.modules_to_save or ())
    targets = _targets_embedding(settings)
    if not settings.ensure_weight_tying or not tree.tied_modules:
        return settings
    if saves:
        return _tie_saved(tree, settings)
    return _tie_targets(tree, settings) if targets else settings


def _names_embedding(entries: tuple[str, ...]) -> bool:
    return any(entry.split(".")[-1] in embedding_names() for entry in entries)


def _targets_embedding(settings: Settings) -> bool:
    targets = settings.target_modules
    if isinstance(targets, str):
        return any(compiled(targets, targets).fullmatch(name) for name in sorted(embedding_names()))
    return _names_embedding(targets or ())


def _tie_saved(tree: ModuleTree, settings: Settings) -> Settings:
    """`LoraModel._add_modules_to_save_to_tie`: the embedding is saved, the tied modules follow it."""
    saved = list(settings.modules_to_save or ())
    embedding = tree.input_embeddings or ""
    if embedding not in saved:
        saved.append(embedding)
    return settings._replace(modules_to_save=_without(saved, tree.tied_modules), modules_to_tie=tree.tied_modules)


def _tie_targets(tree: ModuleTree, settings: Settings) -> Settings:
    """`LoraModel._add_targets_to_tie`: the embedding is a target, the tied modules follow it."""
    embedding = tree.input_embeddings or ""
    targets = settings.target_modules
    changed: str | tuple[str, ...]
    if isinstance(targets, str):
        changed = rf"(?:{targets}|^{re.escape(embedding)}$)"
    else:
        changed = _without([*dict.fromkeys((*(targets or ()), embedding))], tree.tied_modules)
    return settings._replace(target_modules=changed, targets_to_tie=tree.tied_modules)


def is_ambiguous(tree: ModuleTree, written: Settings, settled: Settings) -> bool:
    """Whether several targets match one tied module: PEFT drops the first of a set, in the order that it has this time."""
    targets = written.target_modules
    if not settled.targets_to_tie or isinstance(targets, str):
        return False
    patterns = [rf"(^|.*\.){entry}($|\..*)" for entry in {*(targets or ()), tree.input_embeddings or ""}]
    if not all(map(is_regex, patterns)):
        return True
    return any(sum(1 for each in patterns if re.match(each, name)) > 1 for name in settled.targets_to_tie)


def _without(entries: list[str], tied: tuple[str, ...]) -> tuple[str, ...]:
    """The entries without the first that each tied module matches."""
    for name in tied:
        hit = next((entry for entry in entries if compiled(rf"(^|.*\.){entry}($|\..*)", entry).match(name)), None)
        if hit is not None:
            entries.remove(hit)
    return tuple(entries)


def tied_now(root: Node, tree: ModuleTree) -> tuple[str, ...]:
    """`_get_module_names_tied_with_embedding` (PEFT 0.21.2, `utils/other.py`) once PEFT has wrapped modules: under a
    LoRA layer or a token wrapper it finds the weight, under a saved module it does not.
    """
    embedding = tree.input_embeddings or ""
    if not tree.tied_modules or name_now(root, embedding) != embedding or _below(find(root, embedding)) is None:
        return ()
    return tuple(sorted(name + (_below(find(root, name)) or "") for name in tree.tied_modules))


def _below(node: Node) -> str | None:
    """Where the weight is under wrappers; None where PEFT loses sight of it."""
    path = ""
    while True:
        if node.role is Role.PLAIN:
            return path
        if node.role is Role.SAVED:
            return None
        step = "token_adapter" if node.role is Role.TOKENS else "base_layer"
        path += f".{step}"
        node = node.children[step]
