"""The adapter saved and loaded again is the same one."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from peft.utils import SAFETENSORS_WEIGHTS_NAME, set_peft_model_state_dict
from safetensors.torch import load_file
from torch import nn

from lora_spec.preparation.adapter_state import active_adapter, adapter_config, iter_adapter_state
from lora_spec.preparation.crash_site import CRASHES
from lora_spec.preparation.names import few
from lora_spec.preparation.probe import devices, probe_batch, run
from lora_spec.preparation.save import write_adapter
from lora_spec.preparation.trainable_set import adapter_layers, adapter_wrappers, expected_trainable
from lora_spec.preparation.untouched import bare_copy, seeded, sharing_frozen
from lora_spec.preparation.values import Check

NAME = "save-load-round-trip"

LOGITS = "logits"

LIMIT = 1 << 30
"""Bytes of adapter beyond which the round trip is not run: it keeps two copies in memory and one on the disk."""


def check_round_trip(model: Any, expected: dict[str, nn.Parameter]) -> Check:
    """Save a copy of the adapter, load it onto the same base, and compare every tensor and the logits.

    The copy's weights are filled from a seed first: with lora_B zero, or tokens as they were, a load that does nothing
    would look the same. Frozen weights are shared with the model, not copied, so that its size does not matter.
    """
    size = sum(p.numel() * p.element_size() for p in expected.values())
    if "meta" in devices(model) or size > LIMIT:
        return Check(NAME, None, f"not run: {size:,} bytes of adapter, more than {LIMIT:,}, or without weights")
    with tempfile.TemporaryDirectory(prefix="lora-spec-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT's words on this config were heard when the model was wrapped
        try:
            first = _alone(sharing_frozen(model), active_adapter(model))
        except (TypeError, RuntimeError) as error:
            return Check(NAME, None, f"not run: the model cannot be copied ({' '.join(str(error).split())[:200]})")
        _fill(first)
        saved = {name: tensor.to("cpu", copy=True).contiguous() for name, tensor in iter_adapter_state(first)}
        write_adapter(Path(folder), adapter_config(first), saved)
        try:
            second = _loaded(model, Path(folder))
        except CRASHES as error:
            reason = f"PEFT cannot load what was saved: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            return Check(NAME, passed=False, detail=reason)
    different = _different(saved, dict(iter_adapter_state(second)))
    if different:
        return Check(NAME, passed=False, detail=f"not the same after loading: {few(different)}")
    return _compare_logits(first, second, len(saved))


def _alone(model: Any, adapter: str) -> Any:
    """One adapter is saved, so of several active ones no more than that one may speak."""
    if len(model.active_adapters) > 1:
        model.set_adapter(adapter)
    return model


def _fill(model: Any) -> None:
    with torch.no_grad():
        for index, parameter in enumerate(expected_trainable(model).values()):
            parameter.add_(seeded(index, parameter, 0.02))


def _loaded(model: Any, folder: Path) -> Any:
    """What the folder holds, on the base under ``model`` as it is now.

    PiSSA, OLoRA and their like changed the base when they began, and so did layer_replication: neither is done again.
    KaSA truncates the base whenever it is loaded, here what is truncated already, so the base is given back.
    Dtypes are the model's before the weights are read, or reading would round them.
    """
    adapter = active_adapter(model)
    config = LoraConfig.from_pretrained(str(folder))
    config.init_lora_weights, config.layer_replication, config.inference_mode = True, None, False
    base = bare_copy(model)
    loaded = get_peft_model(base, config, adapter_name=adapter)
    present = dict(model.named_parameters())
    for name, parameter in loaded.named_parameters():
        if parameter.requires_grad and name in present:
            parameter.data = parameter.data.to(present[name].dtype)
        elif name in present and ".base_layer." in name:
            parameter.data = present[name].data
    set_peft_model_state_dict(loaded, load_file(folder / SAFETENSORS_WEIGHTS_NAME), adapter_name=adapter)
    modes = {name: module.training for name, module in model.named_modules()}
    for name, module in loaded.named_modules():  # one by one: PEFT's own wrappers are in train mode in any case
        module.training = modes.get(name, module.training)
    return loaded


def _different(saved: dict[str, torch.Tensor], loaded: dict[str, torch.Tensor]) -> list[str]:
    names = [name for name in saved.keys() | loaded.keys() if name not in saved or name not in loaded]
    common = saved.keys() & loaded.keys()
    unequal = [n for n in common if saved[n].dtype != loaded[n].dtype or not _same(saved[n], loaded[n].cpu())]
    return sorted(names + unequal)


def _compare_logits(first: Any, second: Any, count: int) -> Check:
    batch = probe_batch(first)
    if batch is None:
        return Check(NAME, passed=True, detail=f"{count} tensors the same; no batch can be made to compare logits")
    try:
        one, two = _outputs(first, batch), _outputs(second, batch)
    except CRASHES as error:
        reason = f"the forward pass fails, so no logits to compare ({type(error).__name__})"
        return Check(NAME, None, f"{count} tensors the same; {reason}")
    if _same(one[LOGITS], two[LOGITS]):
        return Check(NAME, passed=True, detail=f"{count} tensors the same, and the same logits")
    worst = float((one[LOGITS].float() - two[LOGITS].float()).abs().max())
    place = next((name for name, output in one.items() if name in two and not _same(output, two[name])), LOGITS)
    where = "" if place == LOGITS else f", from {place} on"
    reason = f"{count} tensors the same, but the logits differ by up to {worst:g}{where}"
    return Check(NAME, passed=False, detail=reason)


def _same(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Equal element for element, NaN to NaN as well."""
    return one.shape == two.shape and bool(((one == two) | (one.isnan() & two.isnan())).all())


def _outputs(model: Any, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What each adapter layer put out first, in the order of the pass, and then the logits."""
    found: dict[str, torch.Tensor] = {}
    handles = [
        module.register_forward_hook(_recorder(name, found))
        for name, module in {**adapter_layers(model), **adapter_wrappers(model)}.items()
    ]
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)  # dropout draws the same
        logits = run(model, batch).detach()
    for handle in handles:
        handle.remove()
    return found | {LOGITS: logits}


def _recorder(name: str, found: dict[str, torch.Tensor]) -> Any:
    def record(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            found.setdefault(name, output.detach())

    return record
