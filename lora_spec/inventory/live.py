"""The tree of a model that is in memory, on any device: the meta device is enough.

The only file of this room that knows torch, and it imports it only when it has a model in hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lora_spec.inventory.tree import Kind, Module, ModuleTree, Numbers, Shape

if TYPE_CHECKING:
    from torch import nn


def module_names(model: nn.Module) -> tuple[str, ...]:
    """The full name of every module but the root, in the model's order."""
    return tuple(name for name, _ in model.named_modules() if name)


def tree_of(model: Any, *, note: str = "") -> ModuleTree:
    """The tree of ``model``, a base model that PEFT has not wrapped."""
    config = getattr(model, "config", None)
    embeddings = {call: _name_of(model, call) for call in ("get_input_embeddings", "get_output_embeddings")}
    names: dict[int, str] = {}
    aliases = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if id(module) in names:
            aliases[name] = names[id(module)]
        names.setdefault(id(module), name)
    tied = _tied_modules(model)
    return ModuleTree(
        modules=tuple(_module(name, module) for name, module in model.named_modules()),
        model_type=getattr(config, "model_type", "") or "",
        model_class=type(model).__name__,
        aliases=aliases,
        ties=_ties(model),
        tied_modules=() if tied is None else tied,
        input_embeddings=embeddings["get_input_embeddings"],
        output_embeddings=embeddings["get_output_embeddings"],
        is_pretrained_model="transformers.PreTrainedModel" in _classes(model),
        generates=hasattr(model, "prepare_inputs_for_generation"),
        unwrappable=tied is None,
        wrap_classes=tuple(sorted(getattr(model, "_no_split_modules", None) or ())),
        tie_word_embeddings=_says_tied(config),
        quantization=_quantization(config),
        numbers=_numbers(config),
        note=note,
    )


def _module(name: str, module: nn.Module) -> Module:
    return Module(
        name=name,
        class_name=type(module).__name__,
        kind=_kind(module),
        parameters=_shapes(module.named_parameters(recurse=False, remove_duplicate=False)),
        buffers=_shapes(module.named_buffers(recurse=False, remove_duplicate=False)),
        groups=getattr(module, "groups", 1) if _kind(module) is Kind.CONV else 1,
        transposed=bool(getattr(module, "is_transposed", False)),
    )


def _shapes(tensors: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Shape], ...]:
    return tuple((name, tuple(tensor.shape)) for name, tensor in tensors)


def _kind(module: nn.Module) -> Kind:
    """By class, parents included, as PEFT's dispatchers and ``all-linear`` go by ``isinstance``."""
    names = _classes(module)
    for kind, classes in _CLASSES.items():
        if names & classes:
            return kind
    return Kind.OTHER


def _classes(module: Any) -> set[str]:
    """The classes it is of, parents included, each with its package."""
    return {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(module).__mro__}


def _says_tied(config: Any) -> bool:
    """As PEFT reads it: in the model's own config as a dict, not in that of its text part."""
    said = config.to_dict() if hasattr(config, "to_dict") else {}
    return bool(said.get("tie_word_embeddings", False))


_CLASSES = {
    Kind.LINEAR: {"torch.Linear"},
    Kind.CONV1D: {"transformers.Conv1D"},
    Kind.EMBEDDING: {"torch.Embedding"},
    Kind.CONV: {"torch.Conv1d", "torch.Conv2d", "torch.Conv3d"},
    Kind.ATTENTION: {"torch.MultiheadAttention"},
    Kind.CONTAINER: {"torch.ModuleList", "torch.ModuleDict", "torch.ParameterList", "torch.ParameterDict"},
}


def _name_of(model: Any, call: str) -> str | None:
    """The name of the module that ``call`` returns, or None where there is none."""
    if not hasattr(model, call):
        return None
    try:
        wanted = getattr(model, call)()
    except NotImplementedError:
        return None
    return next((name for name, module in model.named_modules() if module is wanted), None)


def _ties(model: nn.Module) -> dict[str, str]:
    first: dict[int, str] = {}
    ties = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if id(parameter) in first:
            ties[name] = first[id(parameter)]
        first.setdefault(id(parameter), name)
    return ties


def _tied_modules(model: Any) -> tuple[str, ...] | None:
    """What ``_get_module_names_tied_with_embedding`` finds on a model that is not wrapped (PEFT 0.21.2,
    ``utils/other.py``); None where it raises, as the model cannot name its embedding.
    """
    if getattr(getattr(model, "config", None), "tie_word_embeddings", None) is False:
        return ()
    keys = getattr(model, "_tied_weights_keys", None)
    if not isinstance(keys, dict):
        return tuple(sorted({name.rpartition(".")[0] for name in keys or ()}))
    tied: dict[str, str] = {}
    for prefix, module in model.named_modules():
        start = f"{prefix}." if prefix else ""
        own = getattr(module, "_tied_weights_keys", None) or {}
        tied |= {start + target: start + source for target, source in own.items()}
    try:
        of_embedding = {id(parameter) for parameter in model.get_input_embeddings().parameters()}
    except NotImplementedError:
        return None
    sources = {n for n, p in model.named_parameters(remove_duplicate=False) if id(p) in of_embedding}
    return tuple(sorted({target.rpartition(".")[0] for target, source in tied.items() if source in sources}))


def _quantization(config: Any) -> str | None:
    said = getattr(config, "quantization_config", None)
    method = said.get("quant_method") if isinstance(said, dict) else getattr(said, "quant_method", None)
    return str(getattr(method, "value", method)) if method else None


_NUMBER_NAMES = {
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads"),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim", "qk_head_dim"),
    "intermediate_size": ("intermediate_size", "n_inner", "ffn_dim", "d_ff"),
    "vocab_size": ("vocab_size",),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "experts_per_token": ("num_experts_per_tok", "num_experts_per_token", "moe_topk"),
    "moe_intermediate_size": ("moe_intermediate_size",),
}


def _numbers(config: Any) -> Numbers:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    return Numbers(**{field: _first_int(text, names) for field, names in _NUMBER_NAMES.items()})


def _first_int(config: Any, names: tuple[str, ...]) -> int | None:
    varying = getattr(vars(config).get("_heterogeneity_spec"), "per_layer_attributes", ()) if config else ()
    values = (getattr(config, name, None) for name in names if name not in varying)  # transformers 5.24 raises on those
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)
