"""What should train, derived from what PEFT says it targeted, not from ``requires_grad``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from peft import PeftModel
from peft.tuners.lora import LoraLayer
from peft.tuners.lora.layer import ParamWrapper
from peft.tuners.tuners_utils import BaseTunerLayer
from peft.utils.other import AuxiliaryTrainingWrapper
from torch import nn

Named: TypeAlias = tuple[str, nn.Parameter]


def expected_trainable(model: Any) -> dict[str, nn.Parameter]:
    """The parameters of the active adapters' layers, wrappers and biases, by name; each parameter once.

    The ground is ``targeted_module_names`` and ``targeted_parameter_names``, the wrappers of modules_to_save and
    trainable tokens, and ``bias`` (PEFT 0.21.2, ``BaseTuner.inject_adapter`` and
    ``_mark_only_adapters_as_trainable``). Without PEFT, or with LoRA off, everything trains that asks for it.
    """
    if not isinstance(model, PeftModel):
        return {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = {id(parameter): (name, parameter) for name, parameter in _all_expected(model)}
    return dict(found.values())


def adapter_layers(model: Any) -> dict[str, Any]:
    """The LoRA layers of the modules and parameters that PEFT says it targeted, by their name in ``model``."""
    targeted = {*model.targeted_module_names, *(key.rpartition(".")[0] for key in model.targeted_parameter_names)}
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, BaseTunerLayer) and _original_name(name) in targeted and _is_targeted(module, name, model)
    }


def adapter_wrappers(model: Any) -> dict[str, Any]:
    """The wrappers of modules_to_save and trainable tokens, by their name in ``model``."""
    return {name: module for name, module in model.named_modules() if isinstance(module, AuxiliaryTrainingWrapper)}


def kept_frozen(model: Any) -> dict[str, nn.Parameter]:
    """The active adapters' own parameters that their variant keeps frozen, such as MiCA's B, by name."""
    return {
        f"{prefix}.{kind}.{name}": parameter
        for prefix, layer in adapter_layers(model).items()
        for adapter in model.active_adapters
        for kind in _kept_frozen(layer).get(adapter, ())
        for name, parameter in layer.get_submodule(kind).named_parameters()
        if name.split(".")[0] == adapter
    }


def without_layer(model: Any) -> list[str]:
    """The modules that PEFT says it targeted, and that have no adapter any more."""
    adapted = {_original_name(name) for name in adapter_layers(model)}
    return [name for name in model.targeted_module_names if name not in adapted]


def _all_expected(model: Any) -> Iterator[Named]:
    for name, layer in adapter_layers(model).items():
        yield from _layer_parameters(name, layer, model.active_adapters)
    for name, wrapper in adapter_wrappers(model).items():
        yield from _wrapper_parameters(name, wrapper, model.active_adapters)
    yield from _biases(model)


def _layer_parameters(prefix: str, layer: Any, active: list[str]) -> Iterator[Named]:
    """A layer's own parameters of the active adapters, without those that its variant keeps frozen (MiCA's B)."""
    frozen = {f"{kind}.{name}" for name, kinds in _kept_frozen(layer).items() for kind in kinds}
    for kind, child in layer.named_children():
        if kind == "base_layer" and not isinstance(layer, nn.MultiheadAttention):
            for inner, module in child.named_modules():
                if isinstance(module, BaseTunerLayer) and inner:
                    yield from _layer_parameters(f"{prefix}.{kind}.{inner}", module, active)
            continue
        for name, parameter in child.named_parameters():
            adapter = name.split(".")[0]
            if adapter in active and f"{kind}.{adapter}" not in frozen:
                yield f"{prefix}.{kind}.{name}", parameter


def _kept_frozen(layer: Any) -> dict[str, Any]:
    return dict(getattr(layer, "frozen_peft_weight_names", None) or {})


def _wrapper_parameters(prefix: str, wrapper: Any, active: list[str]) -> Iterator[Named]:
    for kind in wrapper.adapter_layer_names:
        holder = wrapper.get_submodule(kind)
        for name, parameter in holder.named_parameters():
            if name.split(".")[0] in active and parameter.is_floating_point():
                yield f"{prefix}.{kind}.{name}", parameter


def _biases(model: Any) -> Iterator[Named]:
    settings = {model.peft_config[adapter].bias for adapter in model.active_adapters}
    if "all" in settings:
        yield from ((n, p) for n, p in model.named_parameters() if n.endswith(".bias"))
    if "lora_only" in settings:
        for name, layer in adapter_layers(model).items():
            if isinstance(layer, LoraLayer) and isinstance(bias := getattr(layer, "bias", None), nn.Parameter):
                yield f"{name}.base_layer.bias", bias


def _original_name(name: str) -> str:
    """The name that a module had before it was wrapped: without PEFT's prefix and its ``base_layer``."""
    bare = name.removeprefix("base_model.model.")
    while bare.endswith(".base_layer"):
        bare = bare.removesuffix(".base_layer")
    return bare


def _is_targeted(module: Any, name: str, model: Any) -> bool:
    """Of nested parameter wrappers on one module, those whose parameter is targeted."""
    if not isinstance(module, ParamWrapper):
        return True
    return f"{_original_name(name)}.{module.parameter_name}" in model.targeted_parameter_names
