"""The trainable tensors that LoRA adds to a module or parameter, by its kind; and what a kind of module cannot have."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from lora_spec.inventory.matching.result import Reason, RefusedError
from lora_spec.inventory.matching.settings import Settings
from lora_spec.inventory.tree import Kind, Module, Shape

NEED_WEIGHT = ("pissa", "corda", "olora", "loftq", "orthogonal", "lora_ga")
"""Inits that read `weight` of the module, which fused experts and attention do not have."""


class Tensors(NamedTuple):
    """The widths that LoRA bridges and the tensors that it adds."""

    in_out: tuple[int, int]
    shapes: tuple[Shape, ...]
    experts: int = 1


def scale_of(alpha: float, rank: int, settings: Settings) -> float:
    """`LoraLayer.update_layer` (PEFT 0.21.2, `tuners/lora/layer.py`)."""
    return alpha / sqrt(rank) if settings.use_rslora else alpha / rank


def module_tensors(module: Module, rank: int, settings: Settings) -> Tensors:
    """What `dispatch_default` makes of a module (PEFT 0.21.2, `tuners/lora/layer.py`), or its refusal."""
    match module.kind:
        case Kind.LINEAR | Kind.CONV1D:
            return _linear(module, rank, settings)
        case Kind.EMBEDDING:
            return _embedding(module, rank, settings)
        case Kind.CONV:
            return _convolution(module, rank, settings)
        case Kind.ATTENTION:
            return _attention(module, rank, settings)
    raise RefusedError(Reason.UNSUPPORTED_MODULE, "ValueError", module.name)


def _widths(module: Module) -> tuple[int, int]:
    if module.in_out is None:
        raise RefusedError(Reason.UNSUPPORTED_MODULE, "AttributeError", module.name)
    return module.in_out


def _linear(module: Module, rank: int, settings: Settings) -> Tensors:
    inputs, outputs = _widths(module)
    inner = rank
    if str(settings.init_lora_weights).lower() in ("pissa", "olora"):
        inner = min(rank, inputs, outputs)  # they cut the SVD or QR of the weight, which has no more columns
    if settings.init_lora_weights == "orthogonal" and rank % 2:
        raise RefusedError(Reason.VARIANT, "ValueError", module.name)
    shapes: tuple[Shape, ...] = ((inner, inputs), (outputs, inner))
    return Tensors((inputs, outputs), shapes + _more(outputs, settings))


def _more(outputs: int, settings: Settings) -> tuple[Shape, ...]:
    """The bias of LoRA's B or DoRA's magnitudes."""
    return ((outputs,),) * (settings.lora_bias + settings.use_dora)


def _embedding(module: Module, rank: int, settings: Settings) -> Tensors:
    rows, width = _widths(module)
    if settings.lora_bias:
        raise RefusedError(Reason.EMBEDDING_BIAS, "ValueError", module.name)
    _check_variant(module, settings, dora=True)
    return Tensors((rows, width), ((rank, rows), (width, rank), *_more(width, settings)))


def _check_variant(module: Module, settings: Settings, *, dora: bool) -> None:
    """`LoraLayer.resolve_lora_variant` (PEFT 0.21.2): only linear layers have them all."""
    if settings.alora or settings.uncounted or (settings.use_dora and not dora):
        raise RefusedError(Reason.VARIANT, "ValueError", module.name)


def _convolution(module: Module, rank: int, settings: Settings) -> Tensors:
    weight = module.shape("weight")
    if weight is None:
        raise RefusedError(Reason.CONVOLUTION, "AttributeError", module.name)
    if rank % module.groups:
        raise RefusedError(Reason.GROUPS, "ValueError", module.name)
    _check_variant(module, settings, dora=True)
    if settings.init_lora_weights not in (True, False, "gaussian", "lora_ga"):
        raise RefusedError(Reason.VARIANT, "ValueError", module.name)
    outputs, inputs, *kernel = weight
    ones = (1,) * len(kernel)
    inputs *= module.groups
    more: tuple[Shape, ...] = ((1, outputs, *ones),) if settings.use_dora else _more(outputs, settings)
    return Tensors((inputs, outputs), ((rank, inputs, *kernel), (outputs, rank // module.groups, *ones), *more))


def _attention(module: Module, rank: int, settings: Settings) -> Tensors:
    weight = module.shape("in_proj_weight")
    if weight is None:
        raise RefusedError(Reason.ATTENTION_WIDTHS, "ValueError", module.name)
    if settings.use_dora:
        raise RefusedError(Reason.ATTENTION_DORA, "ValueError", module.name)
    _check_variant(module, settings, dora=False)
    init = str(settings.init_lora_weights).lower()
    if init == "orthogonal" and rank % 2:
        raise RefusedError(Reason.VARIANT, "ValueError", module.name)
    if init.startswith(NEED_WEIGHT):
        raise RefusedError(Reason.VARIANT, "AttributeError", module.name)
    outputs, width = weight
    inner: tuple[Shape, ...] = ((rank, width), (width, rank), *_more(width, settings))
    return Tensors((width, outputs), ((rank, width), (outputs, rank), *_more(outputs, settings), *inner))


def parameter_tensors(name: str, shape: Shape, rank: int, *, transposed: bool) -> Tensors:
    """`ParamWrapper` (PEFT 0.21.2): experts share two matrices, as wide as their ranks together."""
    if len(shape) == 2:
        outputs, inputs = shape
        experts = 1
    elif len(shape) == 3:
        experts, first, second = shape
        inputs, outputs = (first, second) if transposed else (second, first)
    else:
        raise RefusedError(Reason.PARAMETER_SHAPE, "ValueError", name)
    return Tensors((inputs, outputs), ((rank * experts, inputs), (outputs, rank * experts)), experts)


def check_parameter_options(name: str, settings: Settings, *, fan_in_fan_out: bool) -> None:
    """The options that `ParamWrapper.__init__` refuses (PEFT 0.21.2)."""
    refused = {
        "lora_dropout": settings.lora_dropout,
        "fan_in_fan_out": fan_in_fan_out,
        "lora_bias": settings.lora_bias,
        "use_dora": settings.use_dora,
    }
    names = [option for option, value in refused.items() if value]
    if names:
        raise RefusedError(Reason.PARAMETER_OPTION, "ValueError", name, *names)
    if settings.alora or settings.uncounted or settings.init_lora_weights == "mica":
        raise RefusedError(Reason.VARIANT, "ValueError", name)


def check_parameter_init(name: str, module: Module, rank: int, settings: Settings) -> None:
    """What `ParamWrapper.update_layer` does with an init (PEFT 0.21.2)."""
    init = str(settings.init_lora_weights).lower()
    if init.startswith(NEED_WEIGHT) and module.shape("weight") is None:
        raise RefusedError(Reason.VARIANT, "AttributeError", name)
    if init == "orthogonal" and rank % 2:
        raise RefusedError(Reason.VARIANT, "ValueError", name)
