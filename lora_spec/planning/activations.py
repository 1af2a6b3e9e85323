"""What a forward pass keeps for the backward pass, by the closed form that holds to the byte where it was measured.

`tests/planning/test_activations.py` measures it with saved-tensor hooks: decoders whose layers have two RMSNorms, q, k,
v and o projections (with or without a norm on q and k) and a gated MLP, attention by SDPA or FlashAttention.
"""

from __future__ import annotations

from typing import NamedTuple

from lora_spec.inventory.tree import Kind, ModuleTree
from lora_spec.spec.root import LoraSpec

ATTENTION = frozenset({"q_proj", "k_proj", "v_proj", "o_proj"})
MLP = frozenset({"gate_proj", "up_proj", "down_proj"})
NORMS = frozenset({"input_layernorm", "post_attention_layernorm"})
HEAD_NORMS = frozenset({"q_norm", "k_norm"})


class ActivationInputs(NamedTuple):
    """What of the adapter the activations depend on: the adapted linear layers of all layers together."""

    inputs: int = 0
    """Sum of the inputs of all adapted linear layers."""
    shared_inputs: int = 0
    """The same, with one input that several of them share counted once."""
    ranks: int = 0
    """Sum of the ranks of all adapted linear layers."""


class _Decoder(NamedTuple):
    """Widths of one layer: hidden, query, key-value, MLP; heads; and whether queries and keys are normed."""

    hidden: int
    query: int
    key_value: int
    mlp: int
    heads: int
    kv_heads: int
    layers: int
    head_norms: bool


def activation_bytes(
    spec: LoraSpec, tree: ModuleTree, tokens: int | None, inputs: ActivationInputs, dtype: int, adapter_dtype: int
) -> tuple[int | None, str]:
    """Bytes of activations at the end of the forward pass, and a note where they are not known.

    With gradient checkpointing each layer keeps its input, and one layer at a time is computed again.
    """
    if tokens is None:
        return None, "activations need train.batch_size and train.sequence_length"
    decoder = _decoder(tree)
    if decoder is None:
        return None, f"activations are not known for {tree.model_class}: its layers are not those that were measured"
    adapters = _adapter_bytes(inputs, dtype, adapter_dtype, dropout=bool(spec.lora and spec.lora.dropout))
    everything = _layer_bytes(decoder, dtype) * decoder.layers + adapters
    if spec.prepare.gradient_checkpointing is None:
        return everything * tokens, ""
    return (dtype * decoder.hidden * decoder.layers + everything // decoder.layers) * tokens, ""


def _layer_bytes(decoder: _Decoder, dtype: int) -> int:
    """Of one layer and token, without adapters: norms in float32, q, k, v and the attention's output with its
    log-sum-exp, and three times the MLP's width.
    """
    d = decoder
    norms = 8 * d.hidden + 8
    if d.head_norms:
        norms += 4 * (d.query + d.key_value) + 4 * (d.heads + d.kv_heads)
    attention = 2 * dtype * (d.query + d.key_value) + 4 * d.heads
    return norms + attention + 3 * dtype * d.mlp


def _adapter_bytes(inputs: ActivationInputs, dtype: int, adapter_dtype: int, *, dropout: bool) -> int:
    """PEFT casts each layer's input to the adapter's dtype; in the base's own dtype layers with one input share it, but
    for dropout, which makes a new one and keeps its mask (of one byte on CUDA, of the tensor's size elsewhere).
    """
    lora_a = adapter_dtype * inputs.ranks
    if dropout:
        return 2 * adapter_dtype * inputs.inputs + lora_a
    shared = adapter_dtype == dtype
    return adapter_dtype * (inputs.shared_inputs if shared else inputs.inputs) + lora_a


def logit_bytes(tree: ModuleTree, tokens: int | None, dtype: int) -> int | None:
    """The logits at the loss: as computed, in float32, their log-softmax, and in the backward pass its gradient."""
    vocabulary = tree.numbers.vocab_size
    if tokens is None or vocabulary is None:
        return None
    return (12 if dtype == 4 else 8 + dtype) * tokens * vocabulary


def _decoder(tree: ModuleTree) -> _Decoder | None:
    """The widths, where every layer is of the measured form."""
    layers = [m.name for m in tree.modules if m.class_name in tree.wrap_classes]
    if not layers or tree.numbers.experts:
        return None
    shapes = {_layer(name, tree) for name in layers}
    one = shapes.pop() if len(shapes) == 1 else None
    return one._replace(layers=len(layers)) if one else None


def _layer(name: str, tree: ModuleTree) -> _Decoder | None:
    inside = [m for m in tree.below(name) if m.parameters]
    linear = {m.leaf: m.in_out for m in inside if m.kind is Kind.LINEAR}
    norms = {m.leaf for m in inside if m.kind is not Kind.LINEAR}
    if set(linear) != ATTENTION | MLP or norms - HEAD_NORMS != NORMS or tree.numbers.heads is None:
        return None
    (hidden, query), (_, key_value), (_, mlp) = (linear[k] or (0, 0) for k in ("q_proj", "k_proj", "gate_proj"))
    heads = tree.numbers.heads
    kv_heads = tree.numbers.kv_heads or heads
    return _Decoder(hidden, query, key_value, mlp, heads, kv_heads, 1, head_norms=norms >= HEAD_NORMS)
