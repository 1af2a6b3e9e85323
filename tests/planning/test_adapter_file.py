"""The planned bytes of an adapter file are those of the file that is saved."""

from pathlib import Path

import pytest

from lora_spec import LoraSpec, plan, prepare, save_adapter

Q = {"target_modules": ["q_proj"]}
CASES = [
    ("dense", {"target_modules": ["q_proj", "v_proj"]}),
    ("dense", {"target_modules": "all-linear"}),
    ("dense", {"target_modules": ["q_proj", "up_proj"], "use_dora": True}),
    ("dense", {**Q, "lora_bias": True}),
    ("dense", {**Q, "modules_to_save": ["lm_head"]}),
    ("dense", {**Q, "trainable_token_indices": [1, 2, 3]}),
    ("dense", {"target_modules": ["q_proj", "embed_tokens"]}),
    ("dense", {"target_modules": ["lm_head"]}),
    ("dense", {**Q, "bias": "all"}),
    ("dense", {**Q, "bias": "lora_only"}),
    ("dense", {**Q, "layers_to_transform": [1], "rank_pattern": {"q_proj": 2}}),
    ("dense", {**Q, "layer_replication": [[0, 2], [0, 2]]}),
    ("tied", {**Q, "trainable_token_indices": [1, 2]}),
    ("tied", {**Q, "modules_to_save": ["lm_head"]}),
    ("moe", {"target_modules": ["q_proj", "gate_proj", "up_proj", "down_proj"]}),
    ("moe", {"target_modules": [], "target_parameters": ["experts.down_proj"]}),
    ("moe", {"target_modules": "all-linear"}),
]


@pytest.mark.filterwarnings("ignore")  # PEFT's and transformers' own
@pytest.mark.parametrize(
    ("model", "lora", "adapter_dtype"), [(*c, "float32") for c in CASES] + [(*CASES[0], "bfloat16")]
)
def test_to_the_byte(tiny_models, tmp_path: Path, model: str, lora: dict, adapter_dtype: str) -> None:
    spec = LoraSpec(
        base_model="x",
        lora={"rank": 4, "alpha": 8, **lora},
        prepare={"dtype": "bfloat16", "adapter_dtype": adapter_dtype},
    )
    base = tiny_models(model)
    planned = plan(spec, base)
    prepared = prepare(base, spec)
    save_adapter(prepared, tmp_path / "adapter")
    assert planned.adapter_bytes == (tmp_path / "adapter" / "adapter_model.safetensors").stat().st_size
    assert planned.trainable_parameters == prepared.trainable_parameters
    assert planned.all_parameters == prepared.all_parameters
