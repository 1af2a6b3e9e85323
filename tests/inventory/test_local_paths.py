"""No path that a config names makes asking about it a crash."""

import pytest

from lora_spec import check

LORA = {"rank": 8, "alpha": 16, "target_modules": ["q_proj"]}


@pytest.mark.parametrize(
    "path", ["~nobody-has-this-name/model", "~", "a" * 5000, "a/" * 3000, "a\0b", "/", "..", "a" * 300]
)
@pytest.mark.parametrize(
    "document",
    [
        {"base_model": "PATH", "lora": LORA},
        {"base_model": "tiny-qwen2", "lora": {"adapter_path": "PATH"}},
        {"base_model": "tiny-qwen2", "lora": {**LORA, "init": {"kind": "corda", "cache_file": "PATH"}}},
        {"model": {"path": "PATH", "lora_rank": 8, "lora_adapter_path": "PATH"}},
    ],
    ids=["base_model", "adapter_path", "cache_file", "verl"],
)
def test_paths_that_are_none_here(path: str, document: dict) -> None:
    def filled(value: object) -> object:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        return path if value == "PATH" else value

    assert isinstance(check(filled(document)), tuple)
