"""Experts that the model keeps in parameters, under the names that they had as modules or have elsewhere."""

from __future__ import annotations

import re

from lora_spec.rules.ground import Ground, in_suffix

_DOWN = ("down_proj", "w2")
_UP = ("gate_up_proj", "gate_proj", "up_proj", "w1", "w3")


def expert_parameter(entry: str, ground: Ground) -> str | None:
    """The parameter, as an entry of target_parameters, that an entry of target_modules for experts' projections stands
    for; None where the model does not keep experts so.
    """
    fused = _fused(ground)
    leaf = entry.rpartition(".")[2]
    wanted = leaf if leaf in fused else _as_fused(leaf, fused)
    return f"experts.{wanted}" if wanted else None


def parameter_meant(entry: str, ground: Ground) -> str | None:
    """The parameter that an entry of target_parameters was probably meant to be; None where there is none like it."""
    plain = re.sub(r"(?:\.weight|_blocks|_scales)$", "", entry)
    head, _, leaf = re.sub(r"\bexperts\.\d+\.", "experts.", plain).rpartition(".")
    fused = _as_fused(leaf, _fused(ground)) if not head or head.endswith("experts") else None
    for meant in (f"{entry}.weight", plain, f"{head or 'experts'}.{fused}" if fused else ""):
        if meant not in ("", entry) and any(in_suffix(name, meant) for name in ground.parameter_names):
            return meant
    return None


def _fused(ground: Ground) -> set[str]:
    return {n for m in ground.tree.modules for n, shape in m.parameters if len(shape) == 3 and m.leaf == "experts"}


def _as_fused(leaf: str, fused: set[str]) -> str | None:
    """The fused parameter that holds a projection, also where a model has no gate."""
    if leaf in _DOWN:
        return "down_proj" if "down_proj" in fused else None
    if leaf not in _UP:
        return None
    return next((name for name in ("gate_up_proj", "up_proj") if name in fused), None)
