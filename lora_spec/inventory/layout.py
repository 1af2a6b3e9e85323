"""Where in a model a name is: its layer and its tower."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

LANGUAGE, VISION, AUDIO, PROJECTOR, SPEECH = "language", "vision", "audio", "projector", "speech"

_TOWERS = (
    (PROJECTOR, ("projector", "connector", "merger", "aligner", "mm_proj", "embed_vision", "embed_audio", "mlp1")),
    (VISION, ("visual", "vision", "image", "vit", "pixel")),
    (AUDIO, ("audio", "conformer", "sound")),
    (SPEECH, ("talker", "token2wav", "code2wav", "code_predictor", "speech", "depth_decoder", "codec")),
)


def layer_of(name: str) -> int | None:
    """The first number in a dotted name: ``model.layers.3.mlp.experts.7`` is in layer 3."""
    return next((int(segment) for segment in name.split(".") if segment.isdigit()), None)


def tower_of(name: str) -> str:
    """The part of a model that a module is in, by the words that public models use for their parts."""
    return min((_tower_of_segment(segment) for segment in name.split(".")), key=_ORDER.index, default=LANGUAGE)


def tower_root(tower: str, names: Iterable[str]) -> str | None:
    """The module that a tower is in: the shortest name that ends in a word of its kind."""
    roots = [name for name in names if _tower_of_segment(name.rpartition(".")[2]) == tower == tower_of(name)]
    return min(roots, key=len, default=None)


def regex_for_inside(module: str) -> str:
    """A regex for the full names of all that is inside a module."""
    leaf = re.escape(module.rpartition(".")[2])
    return rf".*\.{leaf}\..*" if "." in module else rf"{leaf}\..*"


@cache
def _tower_of_segment(segment: str) -> str:
    lower = segment.lower()
    return next((tower for tower, words in _TOWERS if any(word in lower for word in words)), LANGUAGE)


_ORDER = (*(tower for tower, _ in _TOWERS), LANGUAGE)
"""Where segments say different things, the first of these counts: the merger of a vision tower is a projector."""


def layer_ranges(names: Iterable[str]) -> str:
    """The layers that ``names`` are in, as ``0-3,7``; empty where none is in a layer."""
    layers = sorted({layer for name in names if (layer := layer_of(name)) is not None})
    parts: list[list[int]] = []
    for layer in layers:
        if parts and layer == parts[-1][1] + 1:
            parts[-1][1] = layer
        else:
            parts.append([layer, layer])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
