"""What this model calls a layer that other models have under another name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from lora_spec.inventory.layout import LANGUAGE, tower_of
from lora_spec.inventory.tree import Kind, Module
from lora_spec.rules.ground import Ground

_SAID = {"q": "query", "k": "key", "v": "value", "o": "output", "g": "gate", "u": "up", "d": "down"}
_LAYERS = {
    "q": "q_proj query wq q_lin q_a_proj q_b_proj",
    "k": "k_proj key wk k_lin",
    "v": "v_proj value wv v_lin",
    "kv": "kv_a_proj_with_mqa kv_b_proj",
    "qkv": "query_key_value qkv_proj c_attn Wqkv wqkv W_pack linear_qkv",
    "o": "o_proj wo out_lin linear_proj dense out_proj",
    "g": "gate_proj w1",
    "u": "up_proj w3 dense_h_to_4h fc1 c_fc fc_in linear_fc1",
    "gu": "gate_up_proj",
    "d": "down_proj w2 dense_4h_to_h fc2 fc_out linear_fc2",
    "od": "c_proj",
}
_PARTS = {leaf: parts for parts, leaves in _LAYERS.items() for leaf in leaves.split()}
"""By the last segment of a name, the projections of attention and MLP that the layer is."""

_ORDER = "qkvogud"

_BY_OWNER = ("c_proj", "dense", "out_proj")
"""Names that also stand for other layers than the output of attention; the module around them tells."""

_EMBEDDINGS = ("embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "embeddings", "embedding")
_HEADS = ("lm_head", "embed_out", "output", "output_layer")
_CLASSIFIERS = ("score", "classifier")


class Counterpart(NamedTuple):
    """The names to write in the place of an entry, none where the list has them already, and how that is said."""

    names: tuple[str, ...]
    remedy: str


def counterpart(entry: str, listed: Collection[str], ground: Ground) -> Counterpart | None:
    """What ``entry`` is called in the model of ``ground``; None where it is no such layer, or the model has none.

    ``listed`` are the names that the list has, or has been told to have.
    """
    names = counterparts(entry, ground)
    if not names:
        return Counterpart((), "remove it: the MLP has no gate here") if _is_gate_too_many(entry, ground) else None
    layers = _PARTS.get(names[0].rpartition(".")[2], "")
    one = f"here {_joined(layers)} are one layer" if len(names) == 1 < len(layers) else ""
    new = tuple(name for name in names if name not in listed)
    shown = ", ".join(new or names)
    if not new:
        return Counterpart((), f"remove it: {one}, {shown}" if one else f"remove it: here it is {shown}")
    said = f": {one}" if one else ", as it is called here" if len(names) == 1 else ", which are in its place here"
    return Counterpart(new, f"write {shown}{said}")


def counterparts(entry: str, ground: Ground) -> tuple[str, ...]:
    """The names in this model of the layer that other models call ``entry``; empty where there is none."""
    leaf = entry.rpartition(".")[2]
    wanted = _PARTS.get(leaf)
    if wanted is None:
        return tuple(_outside_the_layers(leaf, ground))
    found = [(m, parts) for m in ground.tree.modules if (parts := _parts(m)) and tower_of(m.name) == LANGUAGE]
    several = {m.leaf for m, parts in found if any(n.leaf == m.leaf and other != parts for n, other in found)}
    named = {_ending(m) if m.leaf in several else m.leaf: p for m, p in found if set(p) & set(wanted)}
    return () if leaf in named else tuple(sorted(named, key=lambda name: (_ORDER.index(named[name][0]), name)))


def _is_gate_too_many(entry: str, ground: Ground) -> bool:
    """Whether ``entry`` is a gate projection, and the model's MLPs have an up projection without one."""
    found = {part for m in ground.tree.modules if tower_of(m.name) == LANGUAGE for part in _parts(m)}
    return _PARTS.get(entry.rpartition(".")[2]) == "g" and "u" in found and "g" not in found


def _parts(module: Module) -> str:
    """The projections that a layer is; empty for all other modules."""
    if module.kind not in (Kind.LINEAR, Kind.CONV1D):
        return ""
    owner = module.name.rpartition(".")[0].rpartition(".")[2]
    if module.leaf in _BY_OWNER:
        return "o" if "att" in owner else "d" if module.leaf == "c_proj" else ""
    return _PARTS.get(module.leaf, "")


def _ending(module: Module) -> str:
    return ".".join(module.name.split(".")[-2:])


def _outside_the_layers(leaf: str, ground: Ground) -> Iterator[str]:
    """The input embedding, the head, or a classifier's head, where ``leaf`` is what some model calls that."""
    tree = ground.tree
    own: list[str] = []
    if leaf in _EMBEDDINGS:
        own = [tree.input_embeddings or ""]
    elif leaf in _HEADS:
        own = [tree.output_embeddings or ""]
    elif leaf in _CLASSIFIERS:
        own = [name for name in _CLASSIFIERS if name in tree.by_name]
    yield from (name.rpartition(".")[2] for name in own if name and name.rpartition(".")[2] != leaf)


def _joined(parts: str) -> str:
    *most, last = (_SAID[part] for part in parts)
    return f"{', '.join(most)} and {last}" if most else last
