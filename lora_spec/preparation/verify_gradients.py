"""One forward and backward pass: who gets a gradient, and who does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from lora_spec.preparation.bypass import bypassed
from lora_spec.preparation.crash_site import CRASHES, crash_site, not_finite, source_of_nan, watching_for_nan
from lora_spec.preparation.names import few
from lora_spec.preparation.probe import devices, needs_autocast, probe_batch, run, run_base
from lora_spec.preparation.trainable_set import adapter_layers, adapter_wrappers
from lora_spec.preparation.untouched import bare_copy, seeded
from lora_spec.preparation.values import Check

REACHED, NO_GRADIENT = "gradients-reach-adapters", "frozen-get-no-gradient"


@dataclass(slots=True)
class Verdict:
    """The adapter's parameters by what the pass showed of them."""

    reached: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    bypassed: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)


def check_gradients(model: Any, expected: dict[str, nn.Parameter]) -> tuple[Check, Check]:
    """Each adapter parameter gets a gradient, and nothing else does.

    The loss is a random mixture of the outputs, so that any task's model has one. A factor whose partner is zero, as
    lora_A is beside a fresh lora_B, has a gradient that is zero: there presence counts, elsewhere size. Layers that no
    token came through (experts, vision towers) are neither passed nor failed, unless the model uses their weight
    without calling them.
    """
    bad = not_finite(expected)
    if bad:
        return _broken(f"no gradient can come of NaN or infinity in {few(bad)}")
    batch = None if "meta" in devices(model) else probe_batch(model)
    if batch is None:
        reason = "not run: no batch can be made for this model"
        return Check(REACHED, None, reason), Check(NO_GRADIENT, None, reason)
    with _watching(model) as called:
        try:
            output = run(model, batch)
        except CRASHES as error:
            return _crashed(model, batch, error)
    if output.isnan().any():
        with watching_for_nan(model) as found:
            run(model, batch)
        return _broken(f"the output is not a number: {source_of_nan(model, found[0] if found else '')}")
    if not output.requires_grad:
        reason = "the output does not depend on any parameter that trains"
        return Check(REACHED, passed=False, detail=reason), Check(NO_GRADIENT, passed=True, detail=reason)
    torch.autograd.backward(output, seeded(0, output, output.numel() ** -0.5))
    surplus = _surplus(model, expected)
    verdict = _judge(model, expected, called)
    _clear(model)
    _ask_again(model, verdict, batch)
    how = ", under autocast, which training needs too with this mix of dtypes" if needs_autocast(model) else ""
    return _reached_check(verdict, len(expected), how), _frozen_check(surplus)


def _broken(reason: str) -> tuple[Check, Check]:
    return Check(REACHED, passed=False, detail=reason), Check(NO_GRADIENT, None, "not run: no pass that counts")


def _crashed(model: Any, batch: Any, error: Exception) -> tuple[Check, Check]:
    """The adapter's fault where the base takes the same batch, else the probe's limit."""
    words = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    site = crash_site(model, error)
    where = f" in {site}" if site else ""
    replicated = any(getattr(config, "layer_replication", None) for config in model.peft_config.values())
    try:
        if not replicated:  # else the base is not what it was
            run_base(bare_copy(model), batch)
    except CRASHES:
        reason = f"not run: the base model does not take a batch of text (it fails{where}: {words})"
        return Check(REACHED, None, reason), Check(NO_GRADIENT, None, reason)
    reason = f"the forward pass fails{where}, and without the adapter it does not: {words}"
    return Check(REACHED, passed=False, detail=reason), Check(NO_GRADIENT, None, "not run: the forward pass fails")


def _judge(model: Any, expected: dict[str, nn.Parameter], called: list[str]) -> Verdict:
    owners = {**adapter_layers(model), **adapter_wrappers(model)}
    verdict, verdict_by_id = Verdict(), {id(p): name for name, p in expected.items()}
    must_have_size, dead = _by_partner(owners, verdict_by_id)
    for name, parameter in expected.items():
        owner = _owner(name, owners)
        got = parameter.grad is not None and (name not in must_have_size or bool(parameter.grad.any()))
        if name in dead:
            verdict.dead.append(name)
        elif not got and owner is not None and owner not in called:
            verdict.unreached.append(name)
        elif not got:
            verdict.missed.append(name)
        else:
            verdict.reached.append(name)
    return verdict


def _ask_again(model: Any, verdict: Verdict, batch: dict[str, torch.Tensor]) -> None:
    """Sort out, of the layers that were not called, those whose weight the model uses all the same."""
    layers = adapter_layers(model)
    owners = {name: _owner(name, layers) for name in verdict.unreached}
    around = bypassed(model, {o: layers[o] for o in owners.values() if o is not None}, batch) if owners else []
    verdict.bypassed = [name for name, owner in owners.items() if owner in around]
    verdict.unreached = [name for name, owner in owners.items() if owner not in around]


def _owner(name: str, owners: dict[str, Any]) -> str | None:
    """The innermost adapter layer or wrapper that ``name`` belongs to; None for a bias of the base."""
    parts = name.split(".")
    prefixes = (".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1))
    return next((prefix for prefix in prefixes if prefix in owners), None)


def _by_partner(owners: dict[str, Any], names: dict[int, str]) -> tuple[set[str], set[str]]:
    """The factors A and B whose partner is not all zero, and those that are zero both: neither can ever change."""
    live: set[str] = set()
    dead: set[str] = set()
    for layer in owners.values():
        for a, b in (("lora_A", "lora_B"), ("lora_embedding_A", "lora_embedding_B")):
            for adapter, factor in (getattr(layer, a, None) or {}).items():
                partner = getattr(layer, b)[adapter]
                first, second = _weight(factor), _weight(partner)
                live |= {names.get(id(first), "")} if second.any() else set()
                live |= {names.get(id(second), "")} if first.any() else set()
                dead |= set() if first.any() or second.any() else {names.get(id(w), "") for w in (first, second)}
    return live, dead


def _weight(factor: Any) -> torch.Tensor:
    weight: torch.Tensor = getattr(factor, "weight", factor)
    return weight


def _surplus(model: nn.Module, expected: dict[str, nn.Parameter]) -> list[str]:
    wanted = {id(parameter) for parameter in expected.values()}
    return [name for name, p in model.named_parameters() if p.grad is not None and id(p) not in wanted]


def _clear(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.grad = None


def _reached_check(verdict: Verdict, total: int, how: str) -> Check:
    if verdict.dead:
        reason = f"both factors are zero, so no gradient ever comes: {few(verdict.dead)}"
        return Check(REACHED, passed=False, detail=reason)
    if verdict.bypassed:
        reason = (
            f"the model uses the weight without calling the layer, so the adapter does nothing: {few(verdict.bypassed)}"
        )
        return Check(REACHED, passed=False, detail=reason)
    if verdict.missed:
        return Check(REACHED, passed=False, detail=f"no gradient reaches {few(verdict.missed)}")
    if verdict.unreached:
        unreached = f"not reached by a batch of text: {few(verdict.unreached)}"
        return Check(REACHED, None, f"{len(verdict.reached)} of {total} got one{how}; {unreached}")
    return Check(REACHED, passed=True, detail=f"all {total} adapter parameters got one{how}")


def _frozen_check(surplus: list[str]) -> Check:
    if surplus:
        return Check(NO_GRADIENT, passed=False, detail=f"got a gradient, and should not: {few(surplus)}")
    return Check(NO_GRADIENT, passed=True, detail="no frozen parameter got one")


@contextmanager
def _watching(model: Any) -> Iterator[list[str]]:
    """The adapter layers and wrappers that at least one row of input came through, in order."""
    called: list[str] = []
    handles = [
        module.register_forward_pre_hook(_recorder(name, called))
        for name, module in {**adapter_layers(model), **adapter_wrappers(model)}.items()
    ]
    try:
        yield called
    finally:
        for handle in handles:
            handle.remove()


def _recorder(name: str, called: list[str]) -> Any:
    def record(_module: nn.Module, args: tuple[Any, ...]) -> None:
        if not args or not isinstance(args[0], torch.Tensor) or args[0].numel():
            called.append(name)

    return record
