"""The Python side: check a spec, compile it, and prepare a model that the program has."""

import torch
from transformers import AutoModelForCausalLM, Qwen2Config

from lora_spec import LoraSpec, check, prepare, verify

spec = LoraSpec(
    base_model="tiny-qwen2",
    lora={"rank": 8, "alpha": 16, "target_modules": ["q_proj", "v_proj"]},
    prepare={"dtype": "float32"},
)
for diagnostic in check(spec):
    print(diagnostic.severity, diagnostic.code, diagnostic.message)

print(spec.to_peft().r)

torch.manual_seed(0)
config = Qwen2Config(
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=256,
)
prepared = prepare(AutoModelForCausalLM.from_config(config), spec)
print(prepared.trainable_line)
assert all(result.passed for result in verify(prepared.model, spec))
