"""The real LoraConfig of a spec."""

import peft
import pytest
from peft import LoraConfig

from lora_spec.diagnostics import SpecError
from lora_spec.preparation import peft_config as module


@pytest.mark.parametrize(
    ("lora", "field", "kind"),
    [
        ({"init": {"kind": "eva", "rho": 1.5}}, "eva_config", "EvaConfig"),
        ({"init": {"kind": "corda"}}, "corda_config", "CordaConfig"),
        ({"init": {"kind": "lora_ga"}}, "lora_ga_config", "LoraGAConfig"),
        ({"velora_config": {}}, "velora_config", "VeloraConfig"),
        ({"monteclora_config": {}}, "monteclora_config", "MontecloraConfig"),
        ({"kasa_config": {}}, "kasa_config", "KasaConfig"),
        ({"use_bdlora": {"nblocks": 2}}, "use_bdlora", "BdLoraConfig"),
        ({"runtime_config": {"ephemeral_gpu_offload": True}}, "runtime_config", "LoraRuntimeConfig"),
    ],
)
def test_settings_of_their_own_become_pefts_objects(spec, lora, field, kind):
    config = spec(**lora).to_peft()
    assert isinstance(config, LoraConfig)
    assert type(getattr(config, field)).__name__ == kind


def test_what_the_installed_peft_is_too_old_for_names_the_version(spec, monkeypatch):
    wanted = spec(kasa_config={}, runtime_config={"ephemeral_gpu_offload": True})
    monkeypatch.setattr(module, "SUB_CONFIGS", module.SUB_CONFIGS | {"kasa_config": "No", "runtime_config": "No"})
    with pytest.raises(SpecError) as raised:
        wanted.to_peft()
    assert [(d.code, d.message) for d in raised.value.diagnostics] == [
        ("LS309", f"peft {peft.__version__} has no 'kasa_config'"),
        ("LS309", f"peft {peft.__version__} has no 'runtime_config'"),
    ]
