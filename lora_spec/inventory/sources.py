"""Where the tree of a base model comes from: the catalogue, the disk cache, or a child process that builds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lora_spec.inventory import catalogue, disk_cache
from lora_spec.inventory.collapsed import expand
from lora_spec.inventory.config_file import cached_config, read_config
from lora_spec.inventory.local_paths import is_folder, local_path
from lora_spec.inventory.tree import ModuleTree

SECONDS = 120
"""A build takes about 4 s; a cold disk can take many times that."""


class Found(NamedTuple):
    """A tree and where it is from: `catalogue`, `cache`, `built`, `live`, or `unavailable`, with why and what helps."""

    tree: ModuleTree | None
    source: str
    problem: str = ""
    remedy: str = ""
    config: dict[str, Any] | None = None


def find_tree(
    base_model: str, model_class: str | None = None, revision: str | None = None, *, online: bool = False
) -> Found:
    """The tree of a base model: a local folder, or a hub id in the catalogue, in the hub's cache or, ``online``, on the
    hub. Nothing is guessed: without a source the tree is None and the problem says why.
    """
    folder = local_path(base_model)
    try:
        if (config := read_config(folder / "config.json")) is not None:
            return tree_of_config(config, model_class)
        if is_folder(folder):
            return _unavailable(f"{base_model} has no config.json", "name the folder of a model")
        entry = catalogue.entry_by_id(base_model)
        tree = entry.tree(model_class) if entry and revision is None else None
        if entry is not None and tree is not None:
            return Found(tree, "catalogue", config=entry.config)
        config = cached_config(base_model, revision) or (entry.config if entry else None)
        if config is None and online:
            answer = _hub_config(base_model, revision)
            if isinstance(answer, Found):
                return answer
            config = answer
    except ValueError as error:
        return _unavailable(str(error), "download the model again")
    return tree_of_config(config, model_class) if config is not None else _unknown(base_model)


def tree_of_config(config: dict[str, Any], model_class: str | None = None) -> Found:
    """The tree of a config: from the catalogue by its content, from the disk cache, or built."""
    entry = catalogue.entry_by_config(config)
    tree = entry.tree(model_class) if entry else None
    if tree is not None:
        return Found(tree, "catalogue", config=config)
    installed = _transformers_version()
    if installed is None:
        return _unavailable(
            f"the structure of this {config.get('model_type', 'model')} is not in the catalogue",
            "pip install 'lora-spec[train]': with torch and transformers it is built once, without weights",
        )
    key = disk_cache.cache_key(config, model_class, installed)
    if (tree := disk_cache.read_tree(key)) is not None:
        return Found(tree, "cache", config=config)
    return _built(config, model_class, key)


def _built(config: dict[str, Any], model_class: str | None, key: str) -> Found:
    answer = _run_child({"config": config, "model_class": model_class})
    if "tree" not in answer:
        remedy = "a newer transformers may know it; code of the repository itself is never run"
        return _unavailable(f"transformers cannot build the model: {answer['problem']}", remedy)
    disk_cache.write_tree(key, answer["tree"])
    return Found(expand(answer["tree"]), "built", config=config)


def _run_child(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the child process; standard input is closed, the network is not touched, and it has a time limit."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(request), encoding="utf-8")
        command = [sys.executable, "-m", "lora_spec.inventory.meta_build", str(asked), str(answered)]
        try:
            done = subprocess.run(  # noqa: S603 - our own module
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False, env=environment
            )
        except subprocess.TimeoutExpired:
            return {"problem": f"it took more than {SECONDS} s"}
        if not answered.exists():
            return {"problem": done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or "it stopped"}
        answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
        return answer


def _transformers_version() -> str | None:
    """The version of transformers where it and torch are installed; neither is imported."""
    try:
        return version("transformers") if find_spec("torch") else None
    except PackageNotFoundError:
        return None


def _hub_config(model_id: str, revision: str | None) -> dict[str, Any] | Found:
    """The config of a model on the hub, or why it cannot be had."""
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import (
            GatedRepoError,
            HFValidationError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
        )
    except ModuleNotFoundError:
        return _unavailable("asking the hub needs huggingface_hub", "pip install 'lora-spec[train]'")
    try:
        config = read_config(Path(hf_hub_download(model_id, "config.json", revision=revision)))
    except GatedRepoError:
        return _unavailable("it is gated on the hub", "ask for access on its page, and log in with hf auth login")
    except (RepositoryNotFoundError, HFValidationError):
        remedy = "correct the name; a private model needs hf auth login"
        return _unavailable("no folder here, and not found on the hub", remedy)
    except LocalEntryNotFoundError:
        return _unavailable("the hub cannot be reached", "name a local folder, or try again with a network")
    except OSError as error:
        return _unavailable(f"the hub does not give its config.json: {error}".partition("\n")[0], "name a local folder")
    return config if config is not None else _unavailable("it has no config.json on the hub", "name a local folder")


def _unknown(base_model: str) -> Found:
    problem = "no folder here, and not found in the catalogue and the hub's local cache"
    near = catalogue.nearest_id(base_model)
    remedy = "pass --online to ask the hub for its config.json, or name a local folder"
    return _unavailable(problem, f"did you mean {near}? else {remedy}" if near else remedy)


def _unavailable(problem: str, remedy: str) -> Found:
    return Found(None, "unavailable", problem, remedy)
