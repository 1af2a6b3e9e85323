"""The names of a model that is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def module_names(model: nn.Module) -> tuple[str, ...]:
    """The full name of every module but the root, in the model's order."""
    return tuple(name for name, _ in model.named_modules() if name)
