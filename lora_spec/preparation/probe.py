"""A tiny batch that any transformers model takes, and the one tensor of its output that everything flows into."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from lora_spec.preparation.cast import present_dtype

BATCH, LENGTH = 2, 16
"""Small, and long enough that most experts of a small model see a token."""


def probe_batch(model: Any) -> dict[str, torch.Tensor] | None:
    """Random tokens for ``model``; None for one that does not take tokens.

    Tokens that train come first; tokens that stand for images or padding are left out.
    """
    base = model.get_base_model()
    embedding = base.get_input_embeddings() if hasattr(base, "get_input_embeddings") else None
    takes = inspect.signature(base.forward).parameters
    if embedding is None or not hasattr(base, "config") or "input_ids" not in takes or not hasattr(embedding, "weight"):
        return None
    ids = _tokens(model, base.config, embedding.weight.shape[0]).to(embedding.weight.device)
    if type(base).__name__.endswith("ForSequenceClassification") and getattr(base.config, "pad_token_id", None) is None:
        ids = ids.reshape(1, -1)  # it takes several rows only where it can find their ends by the padding
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    # Gemma asks for these in training mode; zeros mean text
    batch |= {name: torch.zeros_like(ids) for name in ("token_type_ids", "mm_token_type_ids") if name in takes}
    if getattr(base.config, "is_encoder_decoder", False):
        batch["decoder_input_ids"] = ids
    return {name: value for name, value in batch.items() if name in takes}


def run(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The logits, or the first floating output; without a cache, which some models keep on themselves.

    Under autocast where ``needs_autocast``, as a trainer would have to.
    """
    kind = batch["input_ids"].device.type
    with torch.autocast(kind, dtype=present_dtype(model), enabled=needs_autocast(model)):
        return _logits(model(**batch, **_settings(model.get_base_model())))


def needs_autocast(model: nn.Module) -> bool:
    """Whether modules_to_save or biases train in another dtype than the frozen weights beside them.

    A LoRA layer casts its own input (PEFT 0.21.2, ``_cast_input_dtype``); a plain layer does not, and its forward pass
    raises where dtypes are mixed.
    """
    frozen = present_dtype(model)
    plain = (p for n, p in model.named_parameters() if p.requires_grad and _is_plain(n) and p.is_floating_point())
    return frozen != torch.float32 and any(parameter.dtype != frozen for parameter in plain)


def _is_plain(name: str) -> bool:
    return ".modules_to_save." in name or (name.endswith(".bias") and ".lora_" not in name)


def run_base(base: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """``run`` for the model without PEFT."""
    return _logits(base(**batch, **_settings(base)))


def _settings(base: Any) -> dict[str, Any]:
    return {"use_cache": False} if "use_cache" in inspect.signature(base.forward).parameters else {}


def _logits(output: Any) -> torch.Tensor:
    logits = getattr(output, "logits", None)
    if isinstance(logits, torch.Tensor):
        return logits
    return next(tensor for tensor in _tensors(output) if tensor.is_floating_point())


def _tensors(output: Any) -> Iterator[torch.Tensor]:
    values = output.values() if hasattr(output, "values") else output if isinstance(output, tuple) else (output,)
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value


def _tokens(model: Any, config: Any, vocabulary: int) -> torch.Tensor:
    special = set(_special_tokens(config))
    ordinary = [token for token in range(min(vocabulary, 4096)) if token not in special] or list(range(vocabulary))
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randint(len(ordinary), (BATCH * LENGTH,), generator=generator)
    tokens = [ordinary[index] for index in chosen.tolist()]
    first = _trained_tokens(model)[: BATCH * LENGTH]
    tokens[: len(first)] = first
    return torch.tensor(tokens).reshape(BATCH, LENGTH)


def _special_tokens(config: Any) -> Iterator[int]:
    for part in (config, *(part for part in vars(config).values() if hasattr(part, "to_dict"))):
        for name, value in vars(part).items():
            if name.endswith(("token_id", "token_index")) and isinstance(value, int):
                yield value


def _trained_tokens(model: Any) -> list[int]:
    """The tokens that wake an activated LoRA, and the tokens whose embeddings train."""
    tokens: dict[int, None] = {}
    for module in model.modules():
        for indices in getattr(module, "token_indices", None) or {}:
            tokens |= dict.fromkeys(module.token_indices[indices])
    invocations = (
        getattr(model.peft_config[adapter], "alora_invocation_tokens", None) for adapter in model.active_adapters
    )
    return [token for invocation in invocations for token in invocation or ()] + list(tokens)


def devices(model: nn.Module) -> set[str]:
    """The kinds of device that hold the parameters."""
    return {parameter.device.type for parameter in model.parameters()}
