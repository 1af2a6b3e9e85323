"""Write an adapter so that a crash at any moment leaves the old one or the new one, never a half."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from peft.utils import CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME, WEIGHTS_NAME
from safetensors.torch import save_file
from torch import nn

from lora_spec.preparation.adapter_state import adapter_config, iter_adapter_state
from lora_spec.preparation.exchange import exchange
from lora_spec.preparation.faults import fault
from lora_spec.preparation.values import PreparedModel
from lora_spec.rules.preparation import OUTPUT_EXISTS

ADAPTER_FILES = (CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME, WEIGHTS_NAME)
"""What makes up an adapter; everything else in its folder is the user's."""


def save_adapter(model: nn.Module | PreparedModel, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Save the active adapter in ``folder`` as ``adapter_config.json`` and ``adapter_model.safetensors``.

    The files are written to a folder beside it (``.NAME.saving-…``) and forced to the disk, together with hard links to
    whatever else the folder holds. One atomic operation then puts it in place: a rename where ``folder`` does not
    exist, an exchange of the two folders (``RENAME_EXCHANGE``) where it does. So a crash at any moment leaves the old
    adapter or the new one under the name, never a half; at worst the folder beside it stays behind. On a file system
    without the exchange the old folder is renamed first, to ``.NAME.previous-…``; a crash just between the two
    renames leaves both, whole, beside the name.

    Args:
        model: A model from ``prepare`` or ``peft.get_peft_model``.
        folder: Where to; parents are made.
        overwrite: Whether an adapter that is there already may be replaced. Other files in the folder stay.

    Raises:
        SpecError: An adapter is there already and ``overwrite`` is false, or ``folder`` is a file or the
            folder that the process is in.
        TypeError: ``model`` has no adapter.
    """
    source = model.model if isinstance(model, PreparedModel) else model
    target = Path(os.path.realpath(folder))  # a link to a folder stays a link; a loop of links is an OSError later
    refuse_existing(target, overwrite=overwrite)
    config, tensors = adapter_config(source), _to_write(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    _put_in_place(target, lambda beside: write_adapter(beside, config, tensors))


def refuse_existing(folder: Path, *, overwrite: bool) -> None:
    """Raise ``SpecError`` where ``folder`` is a file or in use, or holds an adapter that may not be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise fault(OUTPUT_EXISTS, f"'{folder}' is a file", "name a folder")
    here = Path.cwd()
    if Path(os.path.realpath(folder)) in (here, *here.parents):
        words = f"'{folder}' is the folder you are in, or above it: it would be exchanged under your feet"
        raise fault(OUTPUT_EXISTS, words, "name a folder below it")
    present = [name for name in ADAPTER_FILES if (folder / name).exists()]
    if present and not overwrite:
        raise fault(OUTPUT_EXISTS, f"'{folder}' already holds {present[0]}", "name another folder, or pass --overwrite")


def write_adapter(folder: Path, config: dict[str, object], tensors: dict[str, torch.Tensor]) -> None:
    """Write both files into ``folder`` and force them to the disk."""
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (folder / CONFIG_NAME).write_text(text, encoding="utf-8")
    save_file(tensors, folder / SAFETENSORS_WEIGHTS_NAME, metadata={"format": "pt"})
    for name in (CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME):
        (folder / name).chmod(0o666 & ~_umask())  # safetensors makes private files
        _force_to_disk(folder / name)


def _to_write(model: nn.Module) -> dict[str, torch.Tensor]:
    """On the CPU, contiguous, and each tensor with memory of its own, as safetensors wants them."""
    return {name: tensor.to("cpu", copy=True).contiguous() for name, tensor in iter_adapter_state(model)}


def _put_in_place(target: Path, write: Callable[[Path], None]) -> None:
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.saving-", dir=target.parent))
    try:
        beside.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o777 & ~_umask())
        write(beside)
        if target.exists():
            _carry_over(target, beside)
        _force_to_disk(beside)
        if target.exists():
            exchange(beside, target)  # from here on `beside` is the old one
        else:
            beside.rename(target)
        _force_to_disk(target.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _carry_over(old: Path, new: Path) -> None:
    """Link everything that is not the adapter's into the new folder; where links are impossible, copy."""
    for entry in old.iterdir():
        if entry.name in ADAPTER_FILES:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True, copy_function=_link)
        elif entry.is_symlink():
            (new / entry.name).symlink_to(entry.readlink())
        else:
            _link(str(entry), str(new / entry.name))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _force_to_disk(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
