"""A small random model of the same architecture, or the reason why there is none."""

from __future__ import annotations

from typing import Any

import torch

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.build import instantiate, load_config, random_model
from lora_spec.preparation.names import few
from lora_spec.preparation.quiet import quiet
from lora_spec.preparation.tiny import CannotShrink, shrink_config
from lora_spec.preparation.unavailable import REFUSALS
from lora_spec.spec.root import LoraSpec

MOST = 100_000_000
"""Parameters that a rehearsal may have; more means that a width of the architecture is not known here."""


def build_tiny(spec: LoraSpec, *, online: bool = False) -> tuple[Any, tuple[str, ...]]:
    """The model of ``spec`` at the smallest size with random weights, and what was made smaller.

    Raises:
        CannotShrink: transformers refuses the small config, or too much of it remains.
    """
    return tiny_model(load_config(spec, online=online), spec)


def tiny_model(config: Any, spec: LoraSpec) -> tuple[Any, tuple[str, ...]]:
    """``build_tiny`` for a config that is at hand."""
    small, changes = shrink_config(config, spec)
    whole, left = _skeleton(config, spec), _skeleton(small, spec)
    size = sum(p.numel() for p in left.parameters())
    if size > MOST:
        raise CannotShrink(f"a small {config.model_type} still has {size:,} parameters: its widths are not known here")
    lost = sorted({name for name, _ in whole.named_modules()} - {name for name, _ in left.named_modules()})
    if lost:
        changes.append(f"{len(lost)} modules are gone with what was shrunk: {few(lost)}")
    with quiet():
        return random_model(small, spec), tuple(changes)


def _skeleton(config: Any, spec: LoraSpec) -> Any:
    """The model without weights; refuses what cannot be built."""
    try:
        with torch.device("meta"), quiet():
            return instantiate(config, spec)
    except SpecError:  # a ValueError, and the document's fault
        raise
    except REFUSALS as error:
        words = " ".join(str(error).split())
        raise CannotShrink(f"cannot build a small {config.model_type}: {type(error).__name__}: {words}") from error
