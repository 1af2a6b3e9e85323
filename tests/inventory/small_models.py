"""A small model of every type that transformers can generate text with, on the meta device."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
)

MAPPINGS = {
    "causal-lm": MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "image-text": MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
}

LAYERS = 3

OVERRIDES: dict[str, dict[str, Any]] = {
    "hunyuan_v1_dense": {"head_dim": 64},
    "hunyuan_v1_moe": {"head_dim": 64},
    "ministral": {"head_dim": 64},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 64},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "reformer": {"is_decoder": True},
}
"""What a config lacks by default."""

COUNTS = (
    "num_hidden_layers",
    "num_layers",
    "n_layer",
    "n_layers",
    "depth",
    "encoder_layers",
    "decoder_layers",
    "num_encoder_layers",
    "num_decoder_layers",
    "speech_encoder_layers",
    "num_global_layers",
)


def model_types() -> Iterator[tuple[str, str]]:
    """Kind of task and model type."""
    for kind, names in MAPPINGS.items():
        yield from ((kind, model_type) for model_type in sorted(names))


def build(kind: str, model_type: str) -> Any:
    """The model with few layers, or with as many as its config has by default; the last error where neither builds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):
            return _build(kind, shrunken(_config(model_type)))
        return _build(kind, _config(model_type))


def _config(model_type: str) -> Any:
    return CONFIG_MAPPING[model_type](**OVERRIDES.get(model_type, {}))


def _build(kind: str, config: Any) -> Any:
    auto = AutoModelForCausalLM if kind == "causal-lm" else AutoModelForImageTextToText
    with torch.device("meta"):
        return auto.from_config(config, trust_remote_code=False)


def shrunken(config: Any, layers: int = LAYERS) -> Any:
    """The config with few layers, in every part; lists with one item a layer are cut, each kind of layer kept."""
    for name in getattr(config, "sub_configs", None) or {}:
        part = getattr(config, name, None)
        if part is not None and not isinstance(part, dict):
            shrunken(part, layers)
    counts = {name: getattr(config, name, None) for name in COUNTS}
    numbers = {value for value in counts.values() if isinstance(value, int) and value > layers}
    for name, value in list(vars(config).items()):
        if isinstance(value, list) and len(value) in numbers:
            setattr(config, name, _varied(value, layers))
    for name, value in counts.items():
        if isinstance(value, int) and value > layers:
            with contextlib.suppress(Exception):
                setattr(config, name, layers)
    return config


def _varied(values: list[Any], layers: int) -> list[Any]:
    kinds = list(dict.fromkeys(value for value in values if isinstance(value, (str, int, bool))))
    return [*kinds, *values][:layers] if kinds else values[:layers]


def of_config(folder: Path, layers: int | None = None) -> Any:
    """The model of a config.json, whole or with few layers, of the class that generates text."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if layers:
        shrunken(config, layers)
    kind = "causal-lm" if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING else "image-text"
    return _build(kind, config)


def named_class(folder: Path, layers: int) -> Any:
    """The model of the class that a config.json names."""
    config = shrunken(AutoConfig.from_pretrained(folder, trust_remote_code=False), layers)
    return _of_class(config.architectures[0], config)


def _of_class(name: str, config: Any) -> Any:
    with torch.device("meta"):
        return getattr(transformers, name)._from_config(config)


def classifier(task: str, **settings: Any) -> Any:
    """A small Qwen2 with the head of a task."""
    return _of_class(f"Qwen2For{task}", shrunken(CONFIG_MAPPING["qwen2"](num_labels=3, **settings)))


class Block(nn.Module):
    """What no language model has together: attention of PyTorch, convolutions with groups, a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(8, 2)
        self.mixed = nn.MultiheadAttention(8, 2, kdim=4, vdim=4)
        self.conv1 = nn.Conv1d(8, 6, 3)
        self.conv2 = nn.Conv2d(8, 4, (3, 2), groups=2)
        self.conv3 = nn.Conv3d(2, 4, 3)
        self.proj = nn.Linear(8, 6)
        self.table = nn.Embedding(7, 5)
        self.norm = nn.LayerNorm(8)
        self.scale = nn.Parameter(torch.zeros(3, 4, 5))
        self.cube = nn.Parameter(torch.zeros(2, 3, 4, 5))
        self.flat = nn.Parameter(torch.zeros(4))
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 2, bias=False)})


class Plain(nn.Module):
    """A module that is no model of transformers, with a module under two names and a weight tied by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(11, 8)
        self.layers = nn.ModuleList([Block(), Block()])
        self.again = self.layers[0].proj
        self.own = nn.Parameter(torch.zeros(3, 4))
        self.lm_head = nn.Linear(8, 11, bias=False)
        self.lm_head.weight = self.embed_tokens.weight
        self.score = nn.Linear(8, 2)


def plain() -> Any:
    with torch.device("meta"):
        return Plain()
