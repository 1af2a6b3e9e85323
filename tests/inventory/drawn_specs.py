"""Specs drawn by Hypothesis on a tree: entries are pieces of its own names, whole, cut, or spoilt."""

from typing import Any

from hypothesis import strategies as st

from lora_spec.inventory.tree import ModuleTree

REGEXES = [
    r".*",
    r".*proj",
    r".*\.(q|v)_proj",
    r".*layers\.[01]\..*",
    r"model.*",
    r".*\.\d+\..*_proj",
    r"[^.]+",
    r"(",
    "",
]
WORDS = ["proj", "norm", "attn", "mlp", "head", "layers", "default", "layer", "A", "weight", "bias", "model", "missing"]
INITS = [True, False, "gaussian", "orthogonal", "olora", "pissa"]
TASKS = [None, "CAUSAL_LM", "SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION", "SEQ_2_SEQ_LM"]


def cuts(name: str) -> list[str]:
    """A name, its dotted suffixes, and a piece that ends it without a dot."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))] + [name[len(name) // 2 :]]


def specs(tree: ModuleTree) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for LoraConfig."""
    names = sorted({cut for module in tree.modules if module.name for cut in cuts(module.name)})
    parameters = sorted({cut for name, _ in tree.parameters() for cut in cuts(name)})
    entry = st.one_of(st.sampled_from(names), st.sampled_from(WORDS))
    entries = st.lists(entry, min_size=1, max_size=5)
    regex = st.one_of(st.sampled_from(REGEXES), entry, entry.map(lambda cut: rf".*\.{cut}"))
    pattern = st.dictionaries(regex.filter(bool), st.integers(1, 9), max_size=4)
    tokens = st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True)
    leaves = st.sampled_from(sorted({module.leaf for module in tree.modules if module.leaf}))
    usual = st.lists(leaves, min_size=1, max_size=6)
    rare: dict[str, st.SearchStrategy[Any]] = {
        "exclude_modules": st.one_of(entries, regex),
        "modules_to_save": entries,
        "layers_to_transform": st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=3)),
        "layers_pattern": st.sampled_from(["layers", "h", ["blocks", "layers"]]),
        "rank_pattern": pattern,
        "alpha_pattern": pattern,
        "target_parameters": st.lists(st.sampled_from(parameters), min_size=1, max_size=3),
        "trainable_token_indices": st.one_of(tokens, st.dictionaries(leaves, tokens, min_size=1, max_size=2)),
        "layer_replication": st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 4)).map(list), min_size=1, max_size=3
        ),
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
    targets = st.one_of(usual, entries, regex, st.sampled_from(["all-linear", None, []]))
    some = st.lists(st.sampled_from(sorted(rare)), max_size=5, unique=True)
    return some.flatmap(
        lambda chosen: st.fixed_dictionaries(
            {"target_modules": targets, "r": st.integers(1, 6)} | {name: rare[name] for name in chosen}
        )
    )
