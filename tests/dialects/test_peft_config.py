"""A `peft.LoraConfig` in memory: its faults under PEFT's names, whatever it holds."""

import pytest

from lora_spec import check

peft = pytest.importorskip("peft")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"target_modules": ["q_proj"], "init_lora_weights": "pissa_niter_4"}, []),
        ({"target_modules": {"q_proj"}, "modules_to_save": ["score"]}, []),
        ({"r": 0}, [("LS101", ("r",))]),
        ({"r": -1}, [("LS101", ("r",))]),
        ({"r": "8"}, [("LS013", ("r",))]),
        ({"lora_alpha": 0}, [("LS101", ("lora_alpha",))]),
        ({"lora_dropout": 1.5}, [("LS101", ("lora_dropout",))]),
        ({"bias": "lora"}, [("LS014", ("bias",))]),
        ({"init_lora_weights": "pissa_niter_x"}, [("LS014", ("init_lora_weights",))]),
        ({"init_lora_weights": ["a"]}, [("LS014", ("init_lora_weights",))]),
        ({"target_modules": "q_proj"}, [("LS130", ("target_modules",))]),
        ({"target_modules": ["q_proj,v_proj"]}, [("LS121", ("target_modules", 0))]),
        ({"target_modules": 5}, [("LS013", ("target_modules",))]),
        ({"modules_to_save": "lm_head"}, [("LS013", ("modules_to_save",))]),
    ],
)
def test_faults(settings: dict, expected: list) -> None:
    found = check(peft.LoraConfig(**settings))
    assert [(d.code, d.document_path) for d in found if d.is_error] == expected
