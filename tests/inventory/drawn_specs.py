"""Specs drawn by Hypothesis on a tree: entries are pieces of its own names, whole, cut, or spoilt.

Most draws name something that LoRA can adapt; else PEFT would refuse nearly all of them.
"""

import re
from typing import Any

from hypothesis import strategies as st

from lora_spec.inventory.tree import Kind, ModuleTree

Drawn = st.SearchStrategy[Any]

REGEXES = [r".*", r".*proj", r".*\.(q|v)_proj", r".*layers\.[01]\..*", r"model.*", r".*\.\d+\..*_proj", r"[^.]+"]
KEYS = [r".*", r"layers\.1\..*", r"(?:q|v)_proj", r".*_proj|.*dense", "("]
WORDS = ["proj", "norm", "attn", "mlp", "head", "layers", "default", "layer", "A", "weight", "bias", "model", "missing"]
INITS = [True, False, "gaussian", "orthogonal", "olora", "pissa"]
TASKS = [None, "CAUSAL_LM", "SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION", "SEQ_2_SEQ_LM"]


def cuts(name: str) -> list[str]:
    """A name, its dotted suffixes, and a piece that ends it without a dot."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))] + [name[len(name) // 2 :]]


def some(drawn: Drawn, most: int) -> Drawn:
    return st.lists(drawn, min_size=1, max_size=most)


def piece_of(names: list[str]) -> Drawn:
    return st.sampled_from(names).flatmap(lambda name: st.sampled_from(cuts(name)))


def wild_entry(tree: ModuleTree) -> Drawn:
    """An entry that may be anything."""
    return st.one_of(piece_of([module.name for module in tree.modules if module.name]), st.sampled_from(WORDS))


def wild_regex(tree: ModuleTree) -> Drawn:
    entry = wild_entry(tree)
    return st.one_of(st.sampled_from(REGEXES), entry, entry.map(lambda cut: rf".*\.{cut}"))


def targets(tree: ModuleTree) -> Drawn:
    kinds = (Kind.OTHER, Kind.CONTAINER)
    names = [m.name for m in tree.modules if m.kind not in kinds and "mixed" not in m.name]
    leaves = sorted({m.leaf for m in tree.modules if m.kind in (Kind.LINEAR, Kind.CONV1D)})
    piece = piece_of(names)
    usual = [some(st.sampled_from(leaves), 6), some(piece, 5), piece.map(lambda name: rf".*\.{name}")]
    if len(names) > 26:
        usual.append(st.lists(st.sampled_from(names), min_size=20, max_size=26, unique=True))
    special = st.sampled_from(["all-linear", None, []])
    return st.one_of(*usual, *usual, *usual, some(wild_entry(tree), 5), wild_regex(tree), special)


def options(tree: ModuleTree) -> dict[str, Drawn]:
    """Everything but the targets, by argument."""
    entries, regex = some(wild_entry(tree), 5), wild_regex(tree)
    named = [module.name for module in tree.modules if module.name]
    solid = [module.name for module in tree.modules if module.name and module.kind is not Kind.CONTAINER]
    key = st.one_of(regex, piece_of(named), piece_of(named).map(re.escape), st.sampled_from(KEYS))
    pattern = st.dictionaries(key, st.integers(1, 9), max_size=4)
    tokens = st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True)
    weights = piece_of([name for name, shape in tree.parameters() if len(shape) in (2, 3)])
    by_name = st.dictionaries(
        st.sampled_from(["embed_tokens", "lm_head", "wte", *solid]), tokens, min_size=1, max_size=2
    )
    span = st.tuples(st.integers(0, 2), st.integers(0, 4)).map(list)
    return {
        "exclude_modules": st.one_of(entries, regex),
        "modules_to_save": st.one_of(some(piece_of(solid), 3), some(piece_of(solid), 3), entries),
        "layers_to_transform": st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=3)),
        "layers_pattern": st.sampled_from(["layers", "h", ["blocks", "layers"]]),
        "rank_pattern": pattern,
        "alpha_pattern": pattern,
        "target_parameters": some(st.one_of(weights, weights, piece_of([n for n, _ in tree.parameters()])), 3),
        "trainable_token_indices": st.one_of(tokens, by_name),
        "layer_replication": some(span, 3),
        "bias": st.sampled_from(["none", "all", "lora_only"]),
        "task_type": st.sampled_from(TASKS),
        "init_lora_weights": st.sampled_from(INITS),
        "use_rslora": st.booleans(),
        "use_dora": st.booleans(),
        "lora_bias": st.booleans(),
        "lora_dropout": st.sampled_from([0.0, 0.1]),
        "fan_in_fan_out": st.booleans(),
        "ensure_weight_tying": st.booleans(),
    }


def specs(tree: ModuleTree) -> Drawn:
    """Arguments for LoraConfig: targets and rank, and some of the rest."""
    rest = options(tree)
    chosen = st.lists(st.sampled_from(sorted(rest)), max_size=4, unique=True)
    always = {"target_modules": targets(tree), "r": st.integers(1, 6)}
    return chosen.flatmap(lambda names: st.fixed_dictionaries(always | {name: rest[name] for name in names}))
