"""A spec as the real ``peft.LoraConfig``."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import peft
from peft import LoraConfig
from peft.tuners.lora import config as config_module  # not every class is at the top of every version

from lora_spec.diagnostics import Diagnostic, SpecError
from lora_spec.inventory.tree import ModuleTree
from lora_spec.planning.explicit import final_arguments
from lora_spec.preparation.faults import diagnostic
from lora_spec.rules.preparation import PEFT_TOO_OLD
from lora_spec.spec.root import LoraSpec

SUB_CONFIGS = {
    "runtime_config": "LoraRuntimeConfig",
    "eva_config": "EvaConfig",
    "corda_config": "CordaConfig",
    "lora_ga_config": "LoraGAConfig",
    "arrow_config": "ArrowConfig",
    "use_bdlora": "BdLoraConfig",
    "velora_config": "VeloraConfig",
    "monteclora_config": "MontecloraConfig",
    "kasa_config": "KasaConfig",
}
"""Arguments that are objects of their own, and PEFT's class for each (PEFT 0.21.2, ``tuners/lora/config.py``)."""


def peft_config(spec: LoraSpec, tree: ModuleTree | None = None) -> Any:
    """The ``LoraConfig`` of a new adapter.

    With the ``tree`` of the model names are written out where PEFT would otherwise reach something else than the spec
    says (``planning.explicit``).

    Raises ``SpecError`` with a fault for each setting that the installed PEFT is too old for, and ValueError when LoRA
    is off or when an adapter is continued.
    """
    arguments, _ = final_arguments(spec, tree)
    missing = tuple(_too_old(arguments))
    if missing:
        raise SpecError(missing)
    return LoraConfig(**{name: _object(name, value) for name, value in arguments.items()})


def _too_old(arguments: dict[str, Any]) -> list[Diagnostic]:
    known = {field.name for field in fields(LoraConfig)}
    unknown = [
        name
        for name in arguments
        if name not in known or (name in SUB_CONFIGS and _sub_config(SUB_CONFIGS[name]) is None)
    ]
    return [
        diagnostic(
            PEFT_TOO_OLD,
            f"peft {peft.__version__} has no '{name}'",
            "install a newer peft, or leave the setting out",
            at=("lora", name),
        )
        for name in unknown
    ]


def _object(name: str, value: Any) -> Any:
    if name not in SUB_CONFIGS or value is None:
        return value
    return _sub_config(SUB_CONFIGS[name])(**value)


def _sub_config(name: str) -> Any:
    return getattr(config_module, name, None)
