"""What each size of a config becomes in a tiny rehearsal, by the names that transformers gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from lora_spec.spec.lora import Lora
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.targets import TokenIndices

Changes: TypeAlias = dict[str, Any]

DECOMPOSING = ("pissa", "olora", "orthogonal", "mica", "corda", "loftq", "lora_ga", "eva")
"""Inits that need a weight with at least `rank` rows and columns."""

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads")
KEY_VALUE_HEADS = ("num_key_value_heads", "num_kv_heads", "kv_n_heads", "num_global_key_value_heads")
HEAD_DIMS = ("head_dim", "attention_head_dim", "global_head_dim", "d_kv", "kv_channels", "swa_head_dim")
HIDDEN = ("hidden_size", "n_embd", "d_model", "d_model_size", "embed_dim", "word_embed_proj_dim", "lru_width")
FEED_FORWARD = (
    "intermediate_size",
    "intermediate_size_mlp",
    "n_inner",
    "ffn_dim",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "ffn_hidden_size",
    "d_ff",
    "dff",
)
EXPERT_FEED_FORWARD = (
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "expert_ffn_hidden_size",
    "shared_intermediate_size",
)
EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
CHOSEN_EXPERTS = ("num_experts_per_tok", "experts_per_token", "moe_topk", "moe_top_k", "moe_k", "top_k_experts")
VOCABULARIES = ("vocab_size", "vocab_size_per_layer_input")
STATES = ("state_size", "ssm_state_size", "mamba_d_state")
LOW_RANKS = ("q_lora_rank", "kv_lora_rank", "o_lora_rank")


@dataclass(frozen=True, slots=True)
class Widths:
    """The small sizes. ``unit`` is 1, or more where a decomposing init needs wider weights."""

    unit: int = 1
    vocabulary: int = 512

    def changes(self, config: Any) -> Changes:
        """What to set on ``config``: only what it has, and only where that makes it smaller."""
        present = vars(config)  # its own fields: what a class derives from them follows by itself
        wanted = dict(self._simple(present)) | self._attention(present) | self._mamba(present) | self._linear(present)
        smaller = {name: value for name, value in wanted.items() if _is_smaller(value, present.get(name))}
        head = smaller.get("head_dim", present.get("head_dim"))
        return smaller | self._tokens(present) | _rotary(present, head)

    def _simple(self, present: Changes) -> Iterator[tuple[str, Any]]:
        sizes = {
            HIDDEN: 64 * self.unit,
            FEED_FORWARD: 128 * self.unit,
            EXPERT_FEED_FORWARD: 64 * self.unit,
            EXPERTS: 4,
            CHOSEN_EXPERTS: 2,
            STATES: 16,
            LOW_RANKS: 32 * self.unit,
            ("n_group", "n_groups", "mamba_n_groups", "index_n_heads", "o_groups"): 2,
            ("topk_group",): 1,
            ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"): 16 * self.unit,
            ("qk_head_dim", "index_head_dim"): 32 * self.unit,
            ("index_topk",): 16,
            ("hidden_size_per_layer_input", "num_position_embeddings"): 16,
            ("time_step_rank", "mamba_dt_rank"): 8,
            VOCABULARIES: self.vocabulary,
        }
        for names, size in sizes.items():
            for name in names:
                yield name, _like(present.get(name), size)

    def _attention(self, present: Changes) -> Changes:
        heads, hidden = _first(present, HEADS), _first(present, HIDDEN)
        groups = {name: self._key_value_heads(present.get(name), heads) for name in KEY_VALUE_HEADS}
        divides = heads is not None and heads * (_first(present, HEAD_DIMS) or 0) == hidden
        # deepseek's head_dim is the rotary part alone
        head_dim = (16 if divides or "qk_rope_head_dim" in present else 32) * self.unit
        sizes = dict.fromkeys(HEAD_DIMS, head_dim) | {"rotary_dim": 16 * self.unit}
        return dict.fromkeys(HEADS, 4) | groups | sizes

    def _key_value_heads(self, present: Any, heads: int | None) -> Any:
        if not isinstance(present, int) or present in (1, heads):
            return 4
        return 2

    def _mamba(self, present: Changes) -> Changes:
        """Heads times their size is ``expand`` times the hidden size."""
        inner = int(_first(present, ("expand", "mamba_expand")) or 2) * 64 * self.unit
        changes: Changes = {
            "mamba_num_heads": 8,
            "mamba_n_heads": 8,
            "mamba_head_dim": inner // 8,
            "mamba_d_head": inner // 8,
            "mamba_d_ssm": inner,
        }
        if "state_size" in present:  # mamba, mamba2, falcon_mamba: nothing but the mixer has heads
            changes |= {"intermediate_size": inner, "num_heads": 8, "head_dim": inner // 8}
        return changes

    def _linear(self, present: Changes) -> Changes:
        keys, values = present.get("linear_num_key_heads", 1), present.get("linear_num_value_heads", 1)
        return {
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 2 * min(2, values // keys),
            "linear_key_head_dim": 16 * self.unit,
            "linear_value_head_dim": 16 * self.unit,
        }

    def _tokens(self, present: Changes) -> Changes:
        """Token ids beyond the small vocabulary move to its end, each to a place of its own."""
        changes: Changes = {}
        taken: dict[int, int] = {}
        for name, value in present.items():
            if not name.endswith(("token_id", "token_index", "token_ids")):
                continue
            moved = [self._moved(v, taken) for v in value] if isinstance(value, list) else self._moved(value, taken)
            if moved != value:
                changes[name] = moved
        return changes

    def _moved(self, token: Any, taken: dict[int, int]) -> Any:
        if not isinstance(token, int) or token < self.vocabulary:
            return token
        return taken.setdefault(token, self.vocabulary - 1 - len(taken))


def widths_for(spec: LoraSpec) -> Widths:
    """The smallest widths that ``spec`` allows."""
    lora = spec.lora
    if lora is None:
        return Widths()
    rank = max([lora.rank or 1, *lora.rank_pattern.values()]) if lora.init.kind in DECOMPOSING else 1
    return Widths(unit=-(-rank // 32), vocabulary=max(512, _highest_token(lora) + 1))


def _highest_token(lora: Lora) -> int:
    indices: TokenIndices | None = lora.trainable_token_indices
    if indices is None:
        return 0
    lists = indices.values() if isinstance(indices, dict) else [indices]
    return max((int(token) for tokens in lists for token in tokens), default=0)


def _rotary(present: Changes, head_dim: Any) -> Changes:
    parameters = present.get("rope_parameters")
    if not isinstance(parameters, dict):
        return {}
    size = head_dim or 64 // 4  # hidden size by heads
    fitted = {k: _fit_rotary(v, size) if isinstance(v, dict) else v for k, v in _fit_rotary(parameters, size).items()}
    return {"rope_parameters": fitted} if fitted != parameters else {}


def _fit_rotary(parameters: Changes, head_dim: int) -> Changes:
    """Lists with an entry for each frequency become as long as there are frequencies left."""
    count = int(head_dim * (parameters.get("partial_rotary_factor") or 1.0)) // 2
    fitted = {name: list(parameters[name])[:count] for name in ("short_factor", "long_factor") if parameters.get(name)}
    section = parameters.get("mrope_section")
    if section:
        rest = [max(1, count * part // sum(section)) for part in section[1:]]
        fitted["mrope_section"] = [count - sum(rest), *rest]
    return {**parameters, **fitted}


def _first(present: Changes, names: tuple[str, ...]) -> int | None:
    return next((v for name in names if isinstance(v := present.get(name), int)), None)


def _like(present: Any, size: int) -> Any:
    """One size, or one for each layer where the config has a list."""
    return [min(size, item) for item in present] if isinstance(present, list) else size


def _is_smaller(value: Any, present: Any) -> bool:
    if isinstance(value, list):
        return bool(value != present)
    return isinstance(present, int) and not isinstance(present, bool) and value < present
