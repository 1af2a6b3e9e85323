"""Last segments of module names that occur in public models, to see when two were written as one."""

from __future__ import annotations

import re

LEAF_NAMES = [
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "qkv_proj",
    "out_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
    "gate_up_proj",
    "in_proj",
    "x_proj",
    "dt_proj",
    "q_a_proj",
    "q_b_proj",
    "kv_a_proj_with_mqa",
    "kv_b_proj",
    "query_key_value",
    "dense_h_to_4h",
    "dense_4h_to_h",
    "c_attn",
    "c_proj",
    "c_fc",
    "fc1",
    "fc2",
    "fc_in",
    "fc_out",
    "W_pack",
    "Wqkv",
    "wqkv",
    "lm_head",
    "embed_tokens",
    "in_proj_qkvz",
    "in_proj_ba",
    "word_embeddings",
    "linear_qkv",
    "linear_proj",
    "linear_fc1",
    "linear_fc2",
]

_LONGEST_FIRST = "|".join(sorted(map(re.escape, LEAF_NAMES), key=len, reverse=True))


def split_glued(name: str) -> list[str]:
    """The known names that ``name`` is made of, where it is nothing but two or more of them; else empty."""
    if name in LEAF_NAMES or not re.fullmatch(f"(?:{_LONGEST_FIRST}){{2,}}", name):
        return []
    return re.findall(_LONGEST_FIRST, name)
