"""Small random models for what a plan is held against."""

import pytest


@pytest.fixture(scope="session")
def tiny_models():
    torch = pytest.importorskip("torch")
    import transformers

    base = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    base |= {"num_key_value_heads": 2, "vocab_size": 300}

    def make(name: str):
        torch.manual_seed(0)
        if name == "moe":
            experts = {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "head_dim": 16}
            config = transformers.Qwen3MoeConfig(**base, **experts)
            return transformers.Qwen3MoeForCausalLM(config).to(torch.bfloat16)
        config = transformers.Qwen2Config(**base, tie_word_embeddings=name == "tied")
        return transformers.Qwen2ForCausalLM(config).to(torch.bfloat16)

    return make
