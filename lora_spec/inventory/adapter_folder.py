"""What a saved adapter says of itself: its config and which weight files lie beside it. No tensors are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from lora_spec.inventory.local_paths import is_file, is_folder, local_path

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PICKLE = "adapter_model.bin"


class AdapterFolder(NamedTuple):
    """A folder that was found. ``config`` is None where it holds no readable `adapter_config.json`; ``inner`` is then
    the folder one level down that does, if there is one.
    """

    path: Path
    config: dict[str, Any] | None
    problem: str = ""
    has_weights: bool = False
    has_pickle: bool = False
    inner: Path | None = None

    @property
    def rank(self) -> int | None:
        """The adapter's rank, where its config says one."""
        rank = self.config.get("r") if self.config else None
        return rank if isinstance(rank, int) else None


def read_adapter_folder(path: str | Path) -> AdapterFolder | None:
    """The adapter in ``path``, or None where this machine has no such folder (it may be a hub id, or the cluster's)."""
    folder = local_path(path)
    if not is_folder(folder):
        return None
    config, problem = _config(folder / CONFIG)
    return AdapterFolder(
        path=folder,
        config=config,
        problem=problem,
        has_weights=is_file(folder / WEIGHTS),
        has_pickle=is_file(folder / PICKLE),
        inner=None if config is not None else _inner(folder),
    )


def _config(path: Path) -> tuple[dict[str, Any] | None, str]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, f"it has no {CONFIG}"
    except (OSError, ValueError, RecursionError) as error:
        return None, f"its {CONFIG} cannot be read ({type(error).__name__})"
    if not isinstance(config, dict):
        return None, f"its {CONFIG} is not a JSON object"
    kind = config.get("peft_type", "LORA")
    if kind != "LORA":
        return None, f"its {CONFIG} is that of another method: peft_type is {json.dumps(kind)}"
    for key, fits in _SHAPES.items():
        if key in config and not fits(config[key]):
            return None, f"its {CONFIG} is broken: {key} is {json.dumps(config[key])[:40]}"
    return config, ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_rank(value: object) -> bool:
    return _is_number(value) and isinstance(value, int) and value > 0


def _are(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or (isinstance(value, list) and all(map(is_one, value)))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_names(value: object) -> bool:
    return _is_text(value) or _are(_is_text)(value)


def _are_layers(value: object) -> bool:
    return isinstance(value, int) or _are(lambda item: isinstance(item, int))(value)


def _are_ranges(value: object) -> bool:
    return _are(lambda item: isinstance(item, list) and len(item) == 2 and all(isinstance(n, int) for n in item))(value)


def _are_tokens(value: object) -> bool:
    are_numbers = _are(lambda item: isinstance(item, int))
    return all(map(are_numbers, value.values())) if isinstance(value, dict) else are_numbers(value)


def _is_pattern(value: object) -> bool:
    return value is None or (isinstance(value, dict) and all(map(_is_number, value.values())))


_SHAPES: dict[str, Callable[[object], bool]] = {
    "r": _is_rank,
    "lora_alpha": _is_number,
    "target_modules": _are_names,
    "target_parameters": _are(_is_text),
    "exclude_modules": _are_names,
    "modules_to_save": _are(_is_text),
    "layers_to_transform": _are_layers,
    "layers_pattern": _are_names,
    "rank_pattern": _is_pattern,
    "alpha_pattern": _is_pattern,
    "layer_replication": _are_ranges,
    "trainable_token_indices": _are_tokens,
}
"""What PEFT writes for the settings that say which modules an adapter is on."""


def _inner(folder: Path) -> Path | None:
    return next((config.parent for config in sorted(folder.glob(f"*/{CONFIG}"))), None)
