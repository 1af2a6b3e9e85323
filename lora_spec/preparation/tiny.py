"""The same architecture at the smallest size: depth and names are kept, widths, experts and vocabulary shrink."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from huggingface_hub.errors import StrictDataclassError

from lora_spec.preparation.widths import Widths, widths_for
from lora_spec.spec.root import LoraSpec


class CannotShrink(RuntimeError):  # noqa: N818 - it is a finding, not a malfunction
    """The architecture cannot be built at a small size; the message says which and why."""


def shrink_config(config: Any, spec: LoraSpec) -> tuple[Any, list[str]]:
    """A small copy of ``config`` and what was made smaller, as ``text_config.hidden_size 4096 -> 64``.

    Kept: the number and the kinds of layers, module names, and everything that is not a size. The spec bounds the
    shrinking: token ids that train must be in the vocabulary, and an init that decomposes weights needs them no
    smaller than the rank. A size is never raised.

    Raises:
        CannotShrink: transformers refuses the small sizes, or an adapter is continued; its tensors have the full size.
    """
    if spec.lora is not None and spec.lora.adapter_path is not None:
        raise CannotShrink(
            "the adapter in lora.adapter_path has the full size: rehearse without it, with rank, alpha and targets"
        )
    small, changes = copy.deepcopy(config), list[str]()
    small._name_or_path = ""  # noqa: SLF001 - no files belong to it
    if getattr(small, "quantization_config", None) is not None:
        del small.quantization_config  # the rehearsal's weights are made up, so they are not stored in a special form
        changes.append("quantization_config dropped")
    widths = widths_for(spec)
    try:
        for path, part in _parts(small):
            changes += [f"{path}{change}" for change in _shrink(part, widths)]
        _settle_between_parts(small)
    except (AttributeError, TypeError, ValueError, StrictDataclassError) as error:
        words = " ".join(str(error).split())
        raise CannotShrink(f"transformers refuses a small {config.model_type}: {words}") from error
    return small, changes


def _parts(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The config and its sub-configs, text, vision and so on."""
    yield path, config
    for name, part in vars(config).items():
        if hasattr(part, "to_dict") and hasattr(part, "model_type"):
            yield from _parts(part, f"{path}{name}.")


def _shrink(config: Any, widths: Widths) -> Iterator[str]:
    before = dict(vars(config))
    for name, value in widths.changes(config).items():
        setattr(config, name, value)
        yield f"{name} {_shown(before.get(name))} -> {_shown(value)}"


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _settle_between_parts(config: Any) -> None:
    """A tower's output is as wide as the text model that takes it."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    hidden = getattr(text, "hidden_size", None)
    for _, part in _parts(config):
        for name in ("out_hidden_size", "text_hidden_size", "projection_dim"):
            if isinstance(getattr(part, name, None), int) and part is not text and hidden is not None:
                setattr(part, name, hidden)
