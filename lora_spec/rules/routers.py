"""The routers of a mixture of experts among the targets."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.matching import Adapted, match
from lora_spec.rules.ground import Ground, some
from lora_spec.rules.leaving_out import leaving_out
from lora_spec.rules.misapplied import RETURN_MORE
from lora_spec.spec.places import at_value

ROUTER_ADAPTED = Rule(
    "LS219",
    "router-adapted",
    Severity.WARNING,
    "An adapter on the router of a mixture of experts changes which experts a token goes to. Training gets less "
    "stable, and most servers cannot load it.",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: all-linear}",
    "base_model: Qwen/Qwen3-30B-A3B\nlora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj, o_proj]}",
)
RULES = (ROUTER_ADAPTED,)

ROUTERS = {"gate", "router", "shared_expert_gate", "gate.weight"}
"""Last segments of routers' names."""


def inspect_routers(entry: str, adapted: list[Adapted], path: DocumentPath, ground: Ground) -> Iterator[Diagnostic]:
    """Routers among what one entry adapts, where it does not name them."""
    excluded = {name for e in ground.matched.of("exclude_modules") for name in e.names}  # in vain, which is told there
    routers = [
        a.name
        for a in adapted
        if _is_router(a.name) and not _breaks(a.name, ground) and a.name.rpartition(".")[0] not in excluded
    ]
    if routers and entry.rpartition(".")[2] not in ROUTERS:
        message = f"{entry} also adapts {_gate(routers[0])}, {some(routers)}"
        without = leaving_out(routers, ground)
        remedy = f"leave it out: write {without}" if without else "name the modules that you want instead"
        yield at_value(ground.parsed.places, path, ROUTER_ADAPTED, message, remedy)


def _breaks(name: str, ground: Ground) -> bool:
    """Whether an adapter on it makes the forward pass fail, which is told as an error."""
    module = ground.tree.by_name.get(name)
    return module is not None and module.class_name in RETURN_MORE


def _gate(name: str) -> str:
    return "the gate of the shared expert" if name.endswith("shared_expert_gate") else "the router"


def _is_router(name: str) -> bool:
    *_, owner, leaf = ("", "", *name.split("."))
    return leaf in ROUTERS or (leaf == "weight" and owner in ROUTERS)


def router_meant(entry: str, ground: Ground) -> str | None:
    """The name of the model's own router, where ``entry`` is what other models call theirs and PEFT can adapt it."""
    head, _, leaf = entry.rpartition(".")
    if leaf not in ("gate", "router"):
        return None
    names = {m.leaf for m in ground.tree.modules} & {"gate", "router"}
    for name in (f"{head}.{other}" if head else other for other in sorted(names - {leaf})):
        alone = match(ground.tree, {**ground.arguments, "target_modules": [name]})
        if alone.refusal is None:
            return name
    return None
