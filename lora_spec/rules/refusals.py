"""Values that PEFT takes without a word and stops at when it builds the layers, or in the first forward pass."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import DocumentPath
from lora_spec.rules.inspection import Finding, Inspection, new_adapter
from lora_spec.spec.faults import COMBINATION_REFUSED, NOTHING_TARGETED
from lora_spec.spec.lora import Lora
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

_BLOCKS, _TOKENS = ("lora", "use_bdlora"), ("lora", "trainable_token_indices")
_REPLICATION = ("lora", "layer_replication")


def inspect_blocks(parsed: Parsed) -> Iterator[Finding]:
    """BD-LoRA's lists and blocks (`BdLoraLinearVariant.init`, `BlockDiagonalLinear`, peft 0.21.2)."""
    lora, places = new_adapter(parsed), parsed.places
    blocks = lora.use_bdlora if lora else None
    if lora is None or blocks is None:
        return
    if not (blocks.target_modules_bd_a or blocks.target_modules_bd_b):
        if blocks.match_strict:
            message = "use_bdlora names no modules, and with match_strict each target must be in one of its lists"
            remedy = "fill target_modules_bd_a and target_modules_bd_b, or remove use_bdlora"
            yield at_value(places, _BLOCKS, COMBINATION_REFUSED, message, remedy)
        return
    for path, rank in _ranks(lora):
        if rank % blocks.nblocks and parsed.knows(path):
            message = (
                f"{places.name(path)} is {rank}, which cannot be cut into the {blocks.nblocks} blocks of use_bdlora"
            )
            remedy = f"write a multiple of {blocks.nblocks}, or another nblocks"
            yield at_value(places, path, COMBINATION_REFUSED, message, remedy)


def _ranks(lora: Lora) -> Iterator[tuple[DocumentPath, int]]:
    if lora.rank is not None:
        yield ("lora", "rank"), lora.rank
    for name, rank in lora.rank_pattern.items():
        yield ("lora", "rank_pattern", name), rank


def inspect_replication(parsed: Parsed) -> Iterator[Finding]:
    """Ranges of layers that end before they start: PEFT builds the model without them."""
    lora = new_adapter(parsed)
    for index, (start, end) in enumerate(lora.layer_replication or () if lora else ()):
        path = (*_REPLICATION, index)
        if start >= end and parsed.knows(path):
            name = parsed.places.name(path)
            message = f"{name} is [{start}, {end}], a range that ends before it starts and holds no layer"
            yield at_value(
                parsed.places, path, NOTHING_TARGETED, message, f"write [{start}, {start + 1}] for one layer"
            )


def inspect_tokens(parsed: Parsed) -> Iterator[Finding]:
    """Lists of tokens without a token: PEFT wraps the embedding, and its first forward pass fails."""
    lora = new_adapter(parsed)
    indices = lora.trainable_token_indices if lora else None
    lists: dict[DocumentPath, tuple[int, ...]] = {_TOKENS: indices} if isinstance(indices, tuple) else {}
    if isinstance(indices, dict):
        lists = {(*_TOKENS, name): tokens for name, tokens in indices.items()}
    for path, tokens in lists.items():
        if not tokens and parsed.knows(path):
            message = f"{parsed.places.name(path)} is empty, so no token would train"
            yield at_value(parsed.places, path, NOTHING_TARGETED, message, "list token ids, or remove it")


INSPECTIONS = (
    Inspection((COMBINATION_REFUSED,), (_BLOCKS,), inspect_blocks),
    Inspection((NOTHING_TARGETED,), (_TOKENS,), inspect_tokens),
    Inspection((NOTHING_TARGETED,), (_REPLICATION,), inspect_replication),
)
