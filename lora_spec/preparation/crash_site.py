"""Where in a model a forward pass goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from lora_spec.preparation.names import few

CRASHES = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, KeyError, AssertionError)
"""What a forward pass raises that does not fit."""


def crash_site(model: nn.Module, error: BaseException) -> str:
    """The name of the innermost module of ``model`` that ``error`` was raised in; empty where none was."""
    names = {id(module): name for name, module in model.named_modules()}
    site, trace = "", error.__traceback__
    while trace is not None:
        site = names.get(id(trace.tb_frame.f_locals.get("self")), site)
        trace = trace.tb_next
    return site


def not_finite(parameters: dict[str, nn.Parameter]) -> list[str]:
    """The names of those that hold NaN or infinity."""
    return [name for name, p in parameters.items() if p.is_floating_point() and not _is_finite(p)]


def source_of_nan(model: nn.Module, first_output: str) -> str:
    """What the NaN in a model's output comes from: weights, else the module that gave the first one."""
    bad = not_finite(dict(model.named_parameters()))
    return f"these hold NaN or infinity: {few(bad)}" if bad else f"the first one comes out of {first_output or 'it'}"


@contextmanager
def watching_for_nan(model: nn.Module) -> Iterator[list[str]]:
    """The modules whose output holds NaN, in the order of the pass, innermost first."""
    found: list[str] = []
    handles = [module.register_forward_hook(_recorder(name, found)) for name, module in model.named_modules()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _recorder(name: str, found: list[str]) -> Any:
    def record(_module: nn.Module, _inputs: Any, output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        if any(isinstance(o, torch.Tensor) and o.is_floating_point() and bool(o.isnan().any()) for o in outputs):
            found.append(name)

    return record


def _is_finite(parameter: torch.Tensor) -> bool:
    if parameter.dtype.itemsize == 1:  # float8: torch has no isfinite for it
        return True
    return bool(torch.isfinite(parameter.detach()).all())
