"""The adapter to continue against the base model: what `check` says, and what PEFT does."""

import json
from pathlib import Path

import pytest

from lora_spec.inventory.tensor_shapes import tensor_shapes
from lora_spec.pipeline import check

ADAPTERS = Path(__file__).parent.parent / "adapters"
FOLDERS = sorted(folder.name for folder in ADAPTERS.iterdir())


@pytest.mark.parametrize("name", FOLDERS)
def test_check_refuses_what_peft_cannot_load_whole(name: str) -> None:
    pytest.importorskip("peft")
    from transformers import AutoConfig, AutoModelForCausalLM

    from lora_spec import SpecError
    from lora_spec.preparation.build import SHIPPED
    from lora_spec.preparation.rehearsal import rehearse_loading

    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(SHIPPED / "tiny-qwen2"))
    said = [
        d for d in check({"base_model": "tiny-qwen2", "lora": {"adapter_path": str(ADAPTERS / name)}}) if d.is_error
    ]
    try:
        rehearse_loading(model, ADAPTERS / name)
    except SpecError:
        assert said
    else:
        assert not said


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08\0\0\0\0\0\0\0",
        b"\xff" * 16,
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x08\0\0\0\0\0\0\0" + b'{"a": 1}',
        b"\x04\0\0\0\0\0\0\0" + b"[[[[" + b" " * 9,
    ],
)
def test_a_file_that_is_no_safetensors_file(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "adapter_model.safetensors"
    file.write_bytes(data)
    with pytest.raises(ValueError, match="safetensors"):
        tensor_shapes(file)


def test_the_model_that_an_object_is_held_against_counts(tmp_path: Path) -> None:
    spec = {"base_model": "tiny-qwen2", "lora": {"adapter_path": str(ADAPTERS / "tiny-qwen2")}}
    assert not check(spec)
    assert [d.code for d in check(spec, "Qwen/Qwen2.5-0.5B")] == ["LS236"]
    config = json.loads((ADAPTERS / "tiny-qwen2" / "adapter_config.json").read_text(encoding="utf-8"))
    (tmp_path / "adapter_config.json").write_text(json.dumps(config | {"layer_replication": 5}), encoding="utf-8")
    [said] = check({**spec, "lora": {"adapter_path": str(tmp_path)}})
    assert "is broken: layer_replication is 5" in said.message
