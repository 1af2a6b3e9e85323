"""Specs for the differential tests: every feature, and every trap that is known, on whatever model there is.

Names are taken from the model where it matters, so that a spec hits something on most models.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from lora_spec.inventory.tree import Kind, ModuleTree

Spec = dict[str, Any]

MLP = ["gate_proj", "up_proj", "down_proj"]
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]


class Names(NamedTuple):
    """Names of one model that specs are made of."""

    linear: list[str]
    leaves: list[str]
    embedding: str
    head: str
    fused: list[str]
    norm: str


def names_of(tree: ModuleTree) -> Names:
    linear = [m.name for m in tree.modules if m.kind in (Kind.LINEAR, Kind.CONV1D) and m.name != tree.output_embeddings]
    deep = [name for name in linear if any(part.isdigit() for part in name.split("."))] or linear or ["missing"]
    leaves = list(dict.fromkeys(name.rpartition(".")[2] for name in deep if not name.rpartition(".")[2].isdigit()))
    fused = [f"{m.name}.{n}" for m in tree.modules for n, shape in m.parameters if len(shape) == 3]
    norm = next((m.name for m in reversed(tree.modules) if "norm" in m.leaf), "norm")
    return Names(
        linear=deep,
        leaves=leaves or ["missing"],
        embedding=tree.input_embeddings or "embed_tokens",
        head=tree.output_embeddings or "lm_head",
        fused=fused,
        norm=norm,
    )


def leaf(name: str) -> str:
    return name.rpartition(".")[2]


def few_specs(tree: ModuleTree) -> Iterator[Spec]:
    """The smaller set: for every model type."""
    n = names_of(tree)
    yield {"target_modules": "all-linear"}
    yield {"target_modules": None}
    yield {
        "target_modules": n.leaves[:3],
        "rank_pattern": {n.leaves[0]: 3},
        "alpha_pattern": {r".*\." + n.leaves[-1]: 5},
    }
    yield {"target_modules": [*ATTENTION, *MLP, "gate"], "exclude_modules": [n.linear[0]]}
    yield {"target_modules": rf".*\.({'|'.join(n.leaves)})", "exclude_modules": r".*\.[13579]\..*"}
    yield {"target_modules": n.leaves, "modules_to_save": [leaf(n.embedding), leaf(n.head)], "bias": "all"}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["norm"], "layers_to_transform": [0, 2]}
    yield {
        "target_modules": [n.leaves[0], leaf(n.embedding), leaf(n.head)],
        "ensure_weight_tying": True,
        "use_rslora": True,
    }
    yield {"target_modules": n.leaves[:1], "trainable_token_indices": [1, 2, 5]}
    if n.fused:
        yield {"target_modules": [], "target_parameters": sorted({leaf(name) for name in n.fused})}


def many_specs(tree: ModuleTree) -> Iterator[Spec]:
    """The broad set."""
    n = names_of(tree)
    yield from few_specs(tree)
    yield from _targets(n)
    yield from _exclusions(n)
    yield from _layers(n)
    yield from _patterns(n)
    yield from _options(n)
    yield from _saved(n)
    yield from _tokens(n)
    yield from _experts(n)
    yield from _tasks(n)


def _targets(n: Names) -> Iterator[Spec]:
    yield {"target_modules": ["q_proj", "v_proj"], "r": 16, "lora_alpha": 32}
    yield {"target_modules": ATTENTION}
    yield {"target_modules": [*ATTENTION, *MLP]}
    yield {"target_modules": n.linear[:25]}
    yield {"target_modules": [n.linear[0], "nothing_of_that_name"]}
    yield {"target_modules": [n.linear[0].partition(".")[2] or n.linear[0]]}
    yield {"target_modules": ["nothing_of_that_name"]}
    yield {"target_modules": ["proj"]}
    yield {"target_modules": [r".*q_proj"]}
    yield {"target_modules": "q_proj"}
    yield {"target_modules": r".*(q|v)_proj"}
    yield {"target_modules": r"model\.layers\.[0-3]\.self_attn\.q_proj"}
    yield {"target_modules": r".*language_model.*\.(q_proj|down_proj)"}
    yield {"target_modules": r"(?:.*?(?:language|text).*?)\.(?:self_attn|mlp)\.\w+"}
    yield {"target_modules": "ALL-Linear"}
    yield {"target_modules": "*q_proj"}
    yield {"target_modules": []}
    yield {"target_modules": ["mlp"]}
    yield {"target_modules": [leaf(n.norm)]}
    yield {"target_modules": [leaf(n.embedding)]}
    yield {"target_modules": [leaf(n.head), n.leaves[0]]}
    yield {"target_modules": ["in_proj", "out_proj", "conv1d", "patch_embed", "proj"]}
    yield {"target_modules": "dummy-target-modules"}


def _exclusions(n: Names) -> Iterator[Spec]:
    yield {"target_modules": "all-linear", "exclude_modules": r".*(visual|vision).*"}
    yield {"target_modules": "all-linear", "exclude_modules": ["visual", n.leaves[0]]}
    yield {"target_modules": n.leaves, "exclude_modules": n.leaves}
    yield {"target_modules": n.leaves, "exclude_modules": ["nothing_of_that_name"]}
    yield {"target_modules": n.leaves, "exclude_modules": r".*mlp.*"}
    yield {"target_modules": MLP, "exclude_modules": r".*mlp\.experts.*"}


def _layers(n: Names) -> Iterator[Spec]:
    yield {"target_modules": n.leaves, "layers_to_transform": [0, 1]}
    yield {"target_modules": n.leaves, "layers_to_transform": 1, "layers_pattern": "layers"}
    yield {"target_modules": n.leaves, "layers_to_transform": [1, 5000], "layers_pattern": ["h", "blocks", "layers"]}
    yield {"target_modules": n.leaves, "layers_to_transform": [5000]}
    yield {"target_modules": [n.linear[0], n.linear[-1]], "layers_to_transform": [1]}
    yield {"target_modules": n.linear[:30], "layers_to_transform": [1]}
    yield {"target_modules": "all-linear", "layers_to_transform": [1]}
    yield {"target_modules": n.leaves, "layers_pattern": "layers"}
    yield {"target_modules": n.leaves[:2], "layer_replication": [[0, 2], [1, 2]]}
    yield {"target_modules": n.leaves[:2], "layer_replication": [[0, 1], [0, 1]], "modules_to_save": ["norm"]}
    yield {"target_modules": n.leaves[:2], "layer_replication": [[0, 5000]]}


def _patterns(n: Names) -> Iterator[Spec]:
    first, last = n.leaves[0], n.leaves[-1]
    yield {"target_modules": n.leaves, "rank_pattern": {first: 4, last: 32}, "alpha_pattern": {last: 64}}
    yield {"target_modules": n.leaves, "rank_pattern": {"^" + n.linear[0]: 2, r"layers\.1\..*": 5, "layers.2": 7}}
    yield {"target_modules": n.leaves, "rank_pattern": {f"{first}|{last}": 6, ".*": 9}, "use_rslora": True}
    yield {"target_modules": n.leaves, "rank_pattern": {n.linear[-1]: 3, rf"\d+\..*{last}": 4}, "r": 5}
    yield {"target_modules": n.leaves, "rank_pattern": {"(": 3}}
    yield {"target_modules": n.leaves, "alpha_pattern": {r".*\.gate_up_proj": 3, "down_proj": 5}}


def _options(n: Names) -> Iterator[Spec]:
    yield {"target_modules": n.leaves, "use_dora": True}
    yield {"target_modules": [*n.leaves[:1], leaf(n.embedding)], "use_dora": True}
    yield {"target_modules": n.leaves, "lora_bias": True}
    yield {"target_modules": [leaf(n.embedding)], "lora_bias": True}
    yield {"target_modules": n.leaves, "lora_bias": True, "use_dora": True}
    yield {"target_modules": n.leaves, "bias": "lora_only"}
    yield {"target_modules": n.leaves, "bias": "all"}
    yield {"target_modules": n.leaves, "lora_dropout": 0.1}
    yield {"target_modules": n.leaves, "fan_in_fan_out": True}
    yield {"target_modules": n.leaves, "init_lora_weights": "gaussian"}
    yield {"target_modules": n.leaves, "init_lora_weights": "orthogonal", "r": 6}
    yield {"target_modules": n.leaves, "init_lora_weights": "orthogonal", "r": 7}
    yield {"target_modules": n.leaves, "init_lora_weights": "olora", "r": 3000}
    yield {"target_modules": n.leaves[:1], "init_lora_weights": "pissa"}
    yield {"target_modules": n.leaves, "alora_invocation_tokens": [1, 2], "task_type": "CAUSAL_LM"}


def _saved(n: Names) -> Iterator[Spec]:
    yield {"target_modules": n.leaves, "modules_to_save": [n.embedding]}
    yield {"target_modules": n.leaves, "modules_to_save": [leaf(n.head)]}
    yield {"target_modules": n.leaves, "modules_to_save": ["embed_tokens", "lm_head"], "ensure_weight_tying": True}
    yield {"target_modules": n.leaves, "modules_to_save": ["lm_head"], "ensure_weight_tying": True}
    yield {"target_modules": "all-linear", "modules_to_save": [n.leaves[0]]}
    yield {"target_modules": n.leaves, "modules_to_save": ["head"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["proj"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["layers"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["attn"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["nothing_of_that_name"]}
    yield {"target_modules": n.leaves, "modules_to_save": ["mlp"]}
    yield {"target_modules": n.leaves, "modules_to_save": ["mlp", "mlp.act_fn"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["default"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["layer"]}
    yield {"target_modules": n.leaves[:2], "modules_to_save": ["dropout"]}
    yield {"target_modules": n.leaves, "modules_to_save": [n.linear[-1]], "bias": "all"}
    yield {"target_modules": [*n.leaves, "lm_head"], "modules_to_save": ["lm_head"]}


def _tokens(n: Names) -> Iterator[Spec]:
    yield {"target_modules": n.leaves, "trainable_token_indices": {leaf(n.embedding): [0, 1]}}
    yield {"target_modules": n.leaves, "trainable_token_indices": {leaf(n.embedding): [0], leaf(n.head): [0]}}
    yield {"target_modules": n.leaves, "trainable_token_indices": {leaf(n.embedding): [0], leaf(n.head): [1, 2]}}
    yield {"target_modules": n.leaves, "trainable_token_indices": {"nothing_of_that_name": [0]}}
    yield {"target_modules": n.leaves, "trainable_token_indices": [1], "modules_to_save": [n.embedding]}
    yield {"target_modules": n.leaves, "trainable_token_indices": [1], "modules_to_save": [leaf(n.embedding)]}
    yield {"target_modules": [leaf(n.embedding)], "trainable_token_indices": [1]}
    yield {"target_modules": [leaf(n.head), n.leaves[0]], "trainable_token_indices": [1]}
    yield {"target_modules": n.leaves, "trainable_token_indices": [1, 3], "ensure_weight_tying": True}
    different = {leaf(n.embedding): [0], leaf(n.head): [1]}
    yield {"target_modules": n.leaves, "trainable_token_indices": different, "ensure_weight_tying": True}
    yield {"target_modules": n.leaves, "trainable_token_indices": {leaf(n.norm): [0]}}
    tied = {"target_modules": ["embed_tokens", "lm_head"], "ensure_weight_tying": True}
    yield tied | {"rank_pattern": {"lm_head": 3}}
    yield tied | {"exclude_modules": ["embed_tokens"]}
    yield {"target_modules": r".*(embed_tokens|q_proj)", "ensure_weight_tying": True}
    yield {"target_modules": r"(embed_tokens|lm_head|.*q_proj)", "ensure_weight_tying": True}


def _experts(n: Names) -> Iterator[Spec]:
    yield {"target_modules": ["q_proj", "gate"]}
    yield {"target_modules": ["gate_proj", "up_proj"], "r": 4}
    yield {"target_modules": ["gate_proj"]}
    yield {"target_modules": ["down_proj", "q_proj"]}
    yield {"target_modules": ["w1", "w2", "w3"]}
    yield {"target_modules": ["q_proj", "shared_experts.down_proj"]}
    yield {"target_modules": ["q_proj", "shared_expert.down_proj", "layers.0.mlp.down_proj"]}
    yield {"target_modules": r".*\.mlp\.experts\.\d+\.(gate_proj|up_proj|down_proj)"}
    yield {"target_modules": r".*\.experts\.(gate_proj|up_proj|down_proj)"}
    yield {"target_modules": r".*\.(gate_up_proj|down_proj)"}
    yield {"target_modules": ["q_proj"], "target_parameters": ["experts.gate_up_proj", "experts.down_proj"]}
    yield {"target_modules": ["q_proj"], "target_parameters": ["mlp.experts.down_proj", "dead"], "lora_alpha": 12}
    yield {"target_modules": [], "target_parameters": ["experts.gate_up_proj"], "rank_pattern": {"gate_up_proj": 3}}
    yield {"target_parameters": ["gate.weight"]}
    yield {"target_modules": [], "target_parameters": ["router.weight", "gate_up_proj_bias"]}
    yield {"target_modules": [], "target_parameters": ["experts.down_proj"], "lora_dropout": 0.1}
    yield {"target_modules": [], "target_parameters": ["experts.down_proj"], "use_dora": True}
    yield {"target_modules": [], "target_parameters": ["experts.down_proj"], "bias": "lora_only"}
    yield {"target_modules": [], "target_parameters": ["experts.down_proj"], "exclude_modules": r".*experts.*"}
    yield {"target_modules": MLP, "layers_to_transform": [1, 2]}
    yield {"target_modules": MLP, "rank_pattern": {"gate_up_proj": 3}, "lora_dropout": 0.0}
    yield {"target_modules": MLP, "target_parameters": ["experts.down_proj"]}
    yield {"target_modules": n.leaves[:1], "target_parameters": [n.linear[0] + ".weight"]}
    yield {"target_modules": n.leaves[1:2] or ["q_proj"], "target_parameters": [n.leaves[0] + ".weight"]}
    yield {"target_modules": [], "target_parameters": [leaf(n.norm) + ".weight"]}
    yield {"target_modules": ["q_proj"], "target_parameters": ["dead"]}
    yield {"target_modules": [], "target_parameters": ["dead"]}
    yield {"target_modules": [], "target_parameters": "experts.down_proj"}
    if n.fused:
        fused = sorted({leaf(name) for name in n.fused})
        yield {"target_modules": [], "target_parameters": fused, "modules_to_save": ["experts"]}
        yield {"target_modules": n.leaves, "target_parameters": [n.fused[0], *fused]}


def _tasks(n: Names) -> Iterator[Spec]:
    for task in ("SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "CAUSAL_LM", "SEQ_2_SEQ_LM", "FEATURE_EXTRACTION"):
        yield {"target_modules": n.leaves, "task_type": task}
        yield {"target_modules": "all-linear", "task_type": task, "modules_to_save": ["norm"]}
    yield {"target_modules": n.leaves, "task_type": "SEQ_CLS", "modules_to_save": ["model.score", leaf(n.embedding)]}
    yield {"target_modules": ["score", *n.leaves], "task_type": "TOKEN_CLS"}
    yield {"target_modules": n.leaves, "task_type": "SEQ_CLS", "trainable_token_indices": [1], "bias": "all"}
