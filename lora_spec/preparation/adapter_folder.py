"""Where the adapter to continue lies, refused before anything is changed where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from peft.utils import CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME, WEIGHTS_NAME

from lora_spec.diagnostics import SpecError
from lora_spec.preparation.faults import fault
from lora_spec.rules.preparation import ADAPTER_UNREADABLE

AT = ("lora", "adapter_path")


def find_adapter(adapter: str, *, online: bool = False) -> Path:
    """The local folder of ``adapter``: a folder, or a hub id in the local cache; asked of the hub only ``online``.

    Raises ``SpecError`` where the folder, its config or its weights are missing, and where the weights exist only as
    a pickle.
    """
    folder = Path(adapter)
    if not folder.is_dir():
        folder = _cached(adapter, online=online)
    if not (folder / CONFIG_NAME).is_file():
        raise fault(ADAPTER_UNREADABLE, f"no {CONFIG_NAME} in '{adapter}'", "name the folder that holds it", at=AT)
    if not (folder / SAFETENSORS_WEIGHTS_NAME).is_file():
        raise _without_safetensors(folder, adapter)
    return folder


def _without_safetensors(folder: Path, adapter: str) -> SpecError:
    if (folder / WEIGHTS_NAME).is_file():
        return fault(
            ADAPTER_UNREADABLE,
            f"the adapter '{adapter}' exists only as a pickle ({WEIGHTS_NAME})",
            "load it where you trust it and save it again: model.save_pretrained(folder) writes safetensors",
            at=AT,
        )
    return fault(
        ADAPTER_UNREADABLE,
        f"no {SAFETENSORS_WEIGHTS_NAME} in '{adapter}'",
        "check that the adapter was saved to its end",
        at=AT,
    )


def _cached(adapter: str, *, online: bool) -> Path:
    wanted = [CONFIG_NAME, SAFETENSORS_WEIGHTS_NAME]
    try:
        return Path(huggingface_hub.snapshot_download(adapter, allow_patterns=wanted, local_files_only=not online))
    except (LocalEntryNotFoundError, HFValidationError, HfHubHTTPError) as error:
        where = "on the hub" if online else "in the hub's local cache"
        raise fault(
            ADAPTER_UNREADABLE,
            f"no adapter '{adapter}': neither a folder here nor {where}",
            "correct the path" if online else "correct the path, or pass --online to ask the hub",
            at=AT,
        ) from error
