"""The bytes of the adapter file, header included, as PEFT names tensors and safetensors lays them out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from lora_spec.inventory.matching import Adapted, Match
from lora_spec.inventory.tree import Kind, ModuleTree, Shape

DTYPES = {4: "F32", 2: "BF16"}


class Saved(NamedTuple):
    """A tensor of the file: its name, shape, and bytes of an element."""

    name: str
    shape: Shape
    width: int


def adapter_file_bytes(tree: ModuleTree, match: Match, widths: tuple[int, int], *, lora_bias: bool) -> int:
    """Bytes of ``adapter_model.safetensors``.

    ``widths`` are the bytes of an element that trains, and of one that does not: embeddings that PEFT saves along
    (``get_peft_model_state_dict``, PEFT 0.21.2). A module's third tensor is DoRA's magnitude or, with ``lora_bias``,
    the bias; PEFT refuses both together.
    """
    extra = "lora_B.bias" if lora_bias else "lora_magnitude_vector"
    tensors = sorted(saved_tensors(tree, match, *widths, extra), key=lambda t: (-t.width, t.name))
    entries, offset = {"__metadata__": {"format": "pt"}}, 0
    header: dict[str, object] = dict(entries)
    for tensor in tensors:
        end = offset + prod(tensor.shape) * tensor.width
        header[tensor.name] = {
            "dtype": DTYPES[tensor.width],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    length = len(json.dumps(header, separators=(",", ":")).encode())
    return 8 + -(-length // 8) * 8 + offset


def saved_tensors(tree: ModuleTree, match: Match, trained: int, frozen: int, extra: str) -> Iterator[Saved]:
    """Every tensor of the file; ``extra`` is what a third tensor of a module is called."""
    for adapted in match.modules:
        yield from _matrices(_prefix(adapted.name), adapted, trained, extra)
    yield from _parameters(match, trained)
    for saved in match.saved:
        if saved.parameters:
            yield from _whole(tree, saved.name, f"{_prefix(saved.name)}", trained)
    for tokens in match.tokens:
        if tokens.parameters:
            rows = (len(tokens.indices), tokens.parameters // max(1, len(tokens.indices)))
            yield Saved(f"{_prefix(tokens.name)}.token_adapter.trainable_tokens_delta", rows, trained)
    adapted_names = {adapted.name for adapted in match.modules}
    for name in match.biases.names:
        owner, _, leaf = name.rpartition(".")
        inner = f"{owner}.base_layer.{leaf}" if owner in adapted_names else name
        yield Saved(_prefix(inner), _bias_shape(tree, name), trained)
    yield from _embeddings(tree, match, frozen)


def _prefix(name: str) -> str:
    return f"base_model.model.{name}"


_LINEAR = ("lora_A.weight", "lora_B.weight")
_EMBEDDING = ("lora_embedding_A", "lora_embedding_B")


def _matrices(prefix: str, adapted: Adapted, width: int, extra: str = "") -> Iterator[Saved]:
    names = _EMBEDDING if adapted.kind is Kind.EMBEDDING else _LINEAR
    for index, shape in enumerate(adapted.shapes):
        yield Saved(f"{prefix}.{(*names, extra)[index]}", shape, width)


def _parameters(match: Match, width: int) -> Iterator[Saved]:
    """Of several parameters of one module the wrapper of the last is the outermost."""
    left = Counter(adapted.name.rpartition(".")[0] for adapted in match.parameters)
    for adapted in match.parameters:
        owner = adapted.name.rpartition(".")[0]
        left[owner] -= 1
        yield from _matrices(_prefix(owner) + ".base_layer" * left[owner], adapted, width)


def _whole(tree: ModuleTree, name: str, prefix: str, width: int) -> Iterator[Saved]:
    for module in tree.below(name):
        inner = module.name.removeprefix(name)
        for parameter, shape in module.parameters:
            yield Saved(f"{prefix}{inner}.{parameter}", shape, width)


def _bias_shape(tree: ModuleTree, name: str) -> Shape:
    module, _, parameter = name.rpartition(".")
    found = tree.by_name.get(module)
    return (found.shape(parameter) if found else None) or ()


def _embeddings(tree: ModuleTree, match: Match, width: int) -> Iterator[Saved]:
    """An embedding or head that is a target is saved whole beside its adapter."""
    if not any(adapted.name.rpartition(".")[2] in ("embed_tokens", "lm_head") for adapted in match.modules):
        return
    targeted = {adapted.name for adapted in match.modules}
    for name in (tree.input_embeddings, tree.output_embeddings):
        module = tree.by_name.get(name or "")
        if module is not None and module.name in targeted and (weight := module.shape("weight")):
            yield Saved(f"{_prefix(module.name)}.base_layer.weight", weight, width)
