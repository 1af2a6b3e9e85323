"""Rows of an embedding that are trained: the last part of `set_additional_trainable_modules` (PEFT 0.21.2,
`utils/other.py`) and `TrainableTokensLayer` (`tuners/trainable_tokens/layer.py`).
"""

from __future__ import annotations

from math import prod

from lora_spec.inventory.matching.graph import TUNERS, Node, Role, Tensor, find, name_now
from lora_spec.inventory.matching.result import Reason, RefusedError, Tokens
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.matching.ties import tied_now
from lora_spec.inventory.matching.wrapping import wrap_all
from lora_spec.inventory.tree import Kind, ModuleTree

Layers = dict[str, tuple[int, ...]]


def train_tokens(tree: ModuleTree, root: Node, settings: Settings) -> list[tuple[Tokens, str]]:
    """The rows that are trained, with the entry that named the module."""
    layers = _layers(tree, root, settings)
    both = [name for name in layers if name in (settings.modules_to_save or ())]
    if both:
        raise RefusedError(Reason.TOKENS_AND_SAVED, "ValueError", *both)
    tied = _tied_layers(tree, root, layers)
    differ = len({layers[name] for name in tied}) > 1
    if differ and settings.ensure_weight_tying:
        raise RefusedError(Reason.TOKENS_DIFFER, "ValueError", *tied)
    left_out = set() if differ or len(tied) < 2 else set(tied) & set(tree.tied_modules)
    done = []
    for name, indices in layers.items():
        if name not in left_out:
            done += _wrap(root, (name,), indices)
    if tree.tie_word_embeddings and (settings.ensure_weight_tying or not differ):
        done += _follow(tree, root)
    return done


def _layers(tree: ModuleTree, root: Node, settings: Settings) -> Layers:
    if settings.tokens_by_name:
        return dict(settings.trainable_token_indices or ())  # type: ignore[arg-type]
    name = name_now(root, tree.input_embeddings) if tree.input_embeddings else "embed_tokens"
    return {name: tuple(settings.trainable_token_indices or ())}  # type: ignore[arg-type]


def _tied_layers(tree: ModuleTree, root: Node, layers: Layers) -> list[str]:
    """Of several layers those that are tied to each other."""
    if len(layers) < 2 or not tree.tie_word_embeddings:
        return []
    embedding = name_now(root, tree.input_embeddings or "")
    others = tied_now(root, tree)
    return [
        name
        for name in layers
        if embedding.endswith(name) or any(other.endswith(name) or name in other.split(".") for other in others)
    ]


def _follow(tree: ModuleTree, root: Node) -> list[tuple[Tokens, str]]:
    """Modules tied to the embedding share its rows."""
    embedding = find(root, tree.input_embeddings or "")
    if embedding.role is not Role.TOKENS:
        return []
    names = tied_now(root, tree)
    rows = embedding.children["token_adapter"].children["trainable_tokens_delta"]
    return _wrap(root, names, (), rows) if names else []


def _wrap(
    root: Node, entries: tuple[str, ...], indices: tuple[int, ...], shared: Node | None = None
) -> list[tuple[Tokens, str]]:
    made: dict[str, int] = {}

    def wrap(name: str, node: Node) -> Node:
        wrapper = _token_wrapper(name, node, indices, shared)
        made[name] = 0 if shared else next(wrapper.children["token_adapter"].parameters()).size if indices else 0
        return wrapper

    names = wrap_all(root, entries, Role.TOKENS, wrap)
    if not names:
        raise RefusedError(Reason.TOKENS_NOT_FOUND, "ValueError", *entries)
    return [(Tokens(name, indices, made[name]), entry) for name, entry in names if name in made]


def _token_wrapper(name: str, node: Node, indices: tuple[int, ...], shared: Node | None) -> Node:
    rows = shared or _rows(name, node, indices)
    if node.role in TUNERS:
        raise RefusedError(Reason.SAVED_ADAPTED, "TypeError", name)
    adapter = Node(Role.TOKEN_ADAPTER, Kind.OTHER)
    adapter.children = {
        "base_layer": node,
        "trainable_tokens_delta": rows,
        "trainable_tokens_original": Node(Role.PART, Kind.OTHER),
    }
    wrapper = Node(Role.TOKENS, Kind.OTHER)
    wrapper.children["token_adapter"] = adapter
    return wrapper


def _rows(name: str, node: Node, indices: tuple[int, ...]) -> Node:
    """The rows as a parameter of their own. Only linear layers and embeddings say how wide they are."""
    if node.base.kind is Kind.ATTENTION and "in_proj_weight" not in node.base.tensors:
        raise RefusedError(Reason.TOKENS_MODULE, "ValueError", name)
    weight, kind = _weight(node)
    if weight is None or kind not in (Kind.LINEAR, Kind.EMBEDDING):
        raise RefusedError(Reason.TOKENS_MODULE, "AttributeError", name)
    beyond = [str(index) for index in indices if not -weight.shape[0] <= index < weight.shape[0]]
    if beyond:
        raise RefusedError(Reason.INDEX_OUT_OF_RANGE, "IndexError", name, *beyond)
    holder = Node(Role.PART, Kind.CONTAINER)
    holder.tensors["default"] = Tensor((len(indices), prod(weight.shape[1:])), trainable=True)
    return holder


def _weight(node: Node) -> tuple[Tensor | None, Kind]:
    base = node.base
    if base.role is Role.SAVED:
        base = base.children["modules_to_save"].children["default"]
    return base.tensors.get("weight"), base.kind
