"""Proof that a prepared model trains its adapter, all of it and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

from peft import PeftModel, PeftType
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

from lora_spec.preparation.cast import dtype_census, wanted_dtypes
from lora_spec.preparation.hub import offline
from lora_spec.preparation.names import few
from lora_spec.preparation.trainable_set import expected_trainable, kept_frozen, without_layer
from lora_spec.preparation.untouched import untouched
from lora_spec.preparation.values import Check
from lora_spec.preparation.verify_gradients import check_gradients
from lora_spec.preparation.verify_roundtrip import check_round_trip
from lora_spec.spec.root import LoraSpec

CHECKS = (
    "only-adapter-trains",
    "gradients-reach-adapters",
    "frozen-get-no-gradient",
    "dtypes",
    "save-load-round-trip",
)
"""The names of the checks, in order."""


def verify(model: nn.Module, spec: LoraSpec | None = None) -> tuple[Check, ...]:
    """Prove what a model that PEFT wrapped does when it trains; the model is left as it was, bit for bit.

    One forward and backward pass on a tiny random batch, without an optimizer, and one round trip of the adapter
    through a temporary folder. Parameters, gradients, buffers, random state, mode and settings are afterwards what
    they were.

    Args:
        model: A model from ``prepare`` or from ``peft.get_peft_model``; one without an adapter passes trivially.
        spec: What was asked for; without it the dtypes are reported and not judged.

    Raises:
        TypeError: What wraps the model is not a ``PeftModel``, or the adapter is not LoRA.
    """
    if not isinstance(model, PeftModel):
        _refuse_hidden_adapters(model)
        return tuple(Check(name, passed=True, detail="LoRA is off: nothing to prove") for name in CHECKS)
    _refuse_other_methods(model)
    if not any(adapter in model.peft_config for adapter in model.active_adapters):
        first, *rest = CHECKS
        reason = "not run: no adapter is active"
        return (
            Check(first, passed=False, detail="nothing trains: no adapter is active"),
            *(Check(n, None, reason) for n in rest),
        )
    with untouched(model), offline():
        expected = expected_trainable(model)
        reached, frozen = check_gradients(model, expected)
        return (
            check_trainable_set(model, expected),
            reached,
            frozen,
            check_dtypes(model, expected, spec),
            check_round_trip(model, expected),
        )


def _refuse_hidden_adapters(model: nn.Module) -> None:
    if any(isinstance(module, BaseTunerLayer) for module in model.modules()):
        raise TypeError(
            f"{type(model).__name__} holds adapters and is not a PeftModel: pass what get_peft_model gave, such as "
            "model.module or model._orig_mod inside a wrapper"
        )


def _refuse_other_methods(model: Any) -> None:
    others = {str(c.peft_type.value) for c in model.peft_config.values() if c.peft_type != PeftType.LORA}
    if others:
        raise TypeError(f"verify knows LoRA, not {', '.join(sorted(others))}")


def check_trainable_set(model: nn.Module, expected: dict[str, nn.Parameter]) -> Check:
    """The parameters that train are exactly those that PEFT says it targeted."""
    name = "only-adapter-trains"
    wanted = {id(parameter) for parameter in expected.values()}
    surplus = [n for n, p in model.named_parameters() if p.requires_grad and id(p) not in wanted]
    lost = without_layer(model)
    frozen = [n for n, parameter in expected.items() if not parameter.requires_grad]
    if surplus:
        return Check(name, passed=False, detail=f"trains, and should not: {few(surplus)}")
    if frozen:
        return Check(name, passed=False, detail=f"is frozen, and should train: {few(frozen)}")
    if lost:
        return Check(name, passed=False, detail=f"has no adapter, and PEFT says that it targeted it: {few(lost)}")
    if not expected:
        return Check(name, passed=False, detail="nothing trains: PEFT says that it targeted nothing")
    return Check(name, passed=True, detail=f"{len(expected)} parameters train, each one that PEFT targeted")


def check_dtypes(model: Any, expected: dict[str, nn.Parameter], spec: LoraSpec | None) -> Check:
    """Frozen and training weights, and with ``cast_buffers`` the buffers, have the dtypes that the spec asks for."""
    expected = expected | kept_frozen(model)
    wanted = {id(parameter) for parameter in expected.values()}
    rest = {n: p for n, p in model.named_parameters() if id(p) not in wanted and p.is_floating_point()}
    census = f"frozen: {dtype_census(rest.values())}; adapter: {dtype_census(expected.values())}"
    if spec is None:
        return Check("dtypes", passed=True, detail=f"{census}{_odd_ones(rest)} (no spec to compare with)")
    frozen, trained = wanted_dtypes(model, spec)
    wrong = [f"{n} ({p.dtype})" for n, p in expected.items() if p.dtype != trained]
    if spec.quantization is None:
        wrong += [f"{n} ({p.dtype})" for n, p in rest.items() if p.dtype != frozen and p.dtype.itemsize > 1]
    if spec.prepare.cast_buffers:
        floating = ((n, b) for n, b in model.named_buffers() if b.is_floating_point())
        wrong += [f"{n} ({b.dtype})" for n, b in floating if b.dtype != frozen]
    if wrong:
        return Check("dtypes", passed=False, detail=f"not as asked (frozen {frozen}, adapter {trained}): {few(wrong)}")
    return Check("dtypes", passed=True, detail=census)


def _odd_ones(frozen: dict[str, nn.Parameter]) -> str:
    """The frozen weights in another dtype than most, by name."""
    counted = Counter(parameter.dtype for parameter in frozen.values())
    odd = [name for name, parameter in frozen.items() if parameter.dtype != counted.most_common(1)[0][0]]
    return f", other than most: {few(odd)}" if odd else ""
