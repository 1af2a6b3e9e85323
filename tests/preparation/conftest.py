from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from lora_spec.preparation.build import SHIPPED
from lora_spec.spec.root import LoraSpec

torch.set_num_threads(2)


@pytest.fixture
def base() -> Callable[..., Any]:
    """Makes the shipped model, the same weights each time; settings change its config."""

    def make(**settings: Any) -> Any:
        config = AutoConfig.from_pretrained(SHIPPED / "tiny-qwen2", **settings)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return AutoModelForCausalLM.from_config(config)

    return make


@pytest.fixture
def spec() -> Callable[..., LoraSpec]:
    """Makes a spec on the shipped model; keywords are lora's, but for ``prepare`` and others of the root."""

    def make(prepare: dict[str, Any] | None = None, root: dict[str, Any] | None = None, **lora: Any) -> LoraSpec:
        lora = {"rank": 8, "alpha": 16, "target_modules": ["q_proj", "v_proj"]} | lora
        lora = {key: value for key, value in lora.items() if value is not None}
        return LoraSpec(base_model="tiny-qwen2", lora=lora, prepare=prepare or {"device": "cpu"}, **(root or {}))

    return make


@pytest.fixture
def adapter(base: Any, spec: Any, tmp_path: Path) -> Callable[..., Path]:
    """Saves an adapter by PEFT itself, its weights filled from a seed, and gives the folder."""

    def make(**lora: Any) -> Path:
        model = get_peft_model(base(), spec(**lora).to_peft())
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(7)
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.copy_(torch.randn_like(parameter))
        folder = tmp_path / "adapter"
        model.save_pretrained(folder)
        return folder

    return make
