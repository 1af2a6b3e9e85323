"""The adapter to continue: whether it can be read, as far as this machine can see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lora_spec.inventory.adapter_folder import WEIGHTS, AdapterFolder, read_adapter_folder
from lora_spec.inventory.local_paths import is_file, local_path
from lora_spec.inventory.tensor_shapes import tensor_shapes
from lora_spec.rules.inspection import Finding, Inspection, Unchecked, drafted
from lora_spec.rules.preparation import ADAPTER_UNREADABLE
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

_AT = ("lora", "adapter_path")


def inspect_adapter(parsed: Parsed) -> Iterator[Finding]:
    """An adapter folder that is here and cannot be used, or is not here."""
    lora = drafted(parsed).lora
    path = lora.adapter_path if lora else None
    if path is None:
        return
    folder = read_adapter_folder(path)
    if folder is None:
        yield _elsewhere(path, parsed)
    elif found := unusable(folder):
        yield at_value(parsed.places, _AT, ADAPTER_UNREADABLE, found[0], found[1])


def _elsewhere(path: str, parsed: Parsed) -> Finding:
    if is_file(local_path(path)):
        message = f"{path} is a file, not an adapter folder"
        return at_value(parsed.places, _AT, ADAPTER_UNREADABLE, message, f"write its folder: {Path(path).parent}")
    return Unchecked(_AT, f"the adapter {path}, which is not on this machine")


def unusable(folder: AdapterFolder) -> tuple[str, str] | None:
    """What is wrong with the folder and what to do, or None."""
    if folder.config is None:
        if folder.inner is not None:
            return f"{folder.path} is not an adapter: {folder.problem}", f"write {folder.inner}, which has one"
        return f"{folder.path} is not an adapter: {folder.problem}", "name the folder that save_pretrained wrote"
    if not folder.has_weights and folder.has_pickle:
        message = (
            f"{folder.path} holds its weights as a pickle (adapter_model.bin), which can run code when it is opened"
        )
        return message, "load it where you trust it and save it again: save_pretrained writes adapter_model.safetensors"
    if not folder.has_weights:
        return f"{folder.path} holds no weights: adapter_model.safetensors is missing", "copy the whole adapter folder"
    try:
        tensor_shapes(folder.path / WEIGHTS)
    except (ValueError, OSError) as error:
        return (
            f"{folder.path / WEIGHTS} cannot be read: {error}",
            "copy it again, or check that it was saved to its end",
        )
    return None


INSPECTIONS = (Inspection((ADAPTER_UNREADABLE,), (_AT,), inspect_adapter),)
