"""The child process: build a model on the meta device from its config and print its collapsed tree.

``python -m lora_spec.inventory.meta_build REQUEST RESULT`` reads ``{"config": …, "model_class": …}`` and writes
``{"tree": …}`` or ``{"problem": …}``. No weights, no network, no remote code.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from lora_spec.inventory.collapsed import collapse
from lora_spec.inventory.live import tree_of


def build(config: dict[str, Any], model_class: str | None) -> Any:
    """The model of ``config`` on the meta device, and a note on how its class was found.

    Raises whatever transformers raises for a config that it cannot build.
    """
    import torch

    loaded, note = load_config(config)
    chosen = choose_class(loaded, model_class)
    with torch.device("meta"):
        build_it = getattr(chosen, "from_config", None) or chosen._from_config  # noqa: SLF001 - the only way for a class that is no auto class
        return build_it(loaded), note


def load_config(config: dict[str, Any]) -> tuple[Any, str]:
    """The config as transformers' own class; where the type is not known there, by the class that `architectures`
    names.
    """
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
        architecture, said = _architecture(config), config.get("model_type")
        known = isinstance(said, str) and said in transformers.CONFIG_MAPPING
        native = getattr(transformers, architecture, None) if architecture else None
        if not known and native is None:
            raise ValueError(f"transformers {transformers.__version__} has no model type {json.dumps(said)}")
        if known:
            note = f"structure of transformers' own {architecture or 'class'}; the repository's code was not run"
            loaded = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
            return loaded, note if config.get("auto_map") else ""
    assert native is not None
    said_otherwise = {key: value for key, value in config.items() if key not in ("auto_map", "model_type")}
    note = f"{config.get('model_type')} is not a type of transformers: structure of its own {architecture}"
    return native.config_class.from_dict(said_otherwise), note


def _architecture(config: dict[str, Any]) -> str:
    """The first class that the config names; empty where it names none."""
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else named
    return first if isinstance(first, str) else ""


def choose_class(config: Any, model_class: str | None) -> Any:
    """The class to build: the one that is named, else AutoModelForCausalLM where it maps the config, else
    AutoModelForImageTextToText.
    """
    import transformers

    if model_class is not None:
        if not hasattr(transformers, model_class):
            raise ValueError(f"transformers {transformers.__version__} has no class {model_class}")
        return getattr(transformers, model_class)
    mapping = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING
    is_causal = type(config) in mapping
    return transformers.AutoModelForCausalLM if is_causal else transformers.AutoModelForImageTextToText


def main(request: str, result: str) -> None:
    """Build what ``request`` asks for and write the answer to ``result``."""
    asked = json.loads(Path(request).read_text(encoding="utf-8"))
    try:
        model, note = build(asked["config"], asked["model_class"])
        answer: dict[str, Any] = {"tree": collapse(tree_of(model, note=note))}
    except Exception as error:  # noqa: BLE001 - transformers raises anything for a config that it cannot build
        answer = {"problem": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
    Path(result).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
