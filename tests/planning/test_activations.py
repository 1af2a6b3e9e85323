"""The closed form of activations against what a real forward pass keeps, to the byte."""

import pytest

from lora_spec import LoraSpec
from lora_spec.inventory.live import tree_of
from lora_spec.inventory.matching import match
from lora_spec.planning.activations import activation_bytes
from lora_spec.planning.memory import activation_inputs
from lora_spec.spec.peft_arguments import peft_arguments

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
WIDTHS = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 512,
}
CLASSES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {}),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, {}),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, {"head_dim": 32}),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM, {}),
}
SIZES = {torch.bfloat16: 2, torch.float32: 4}
BATCH = (2, 64)


def model_of(name: str, layers: int, dtype: torch.dtype):
    config_class, model_class, more = CLASSES[name]
    torch.manual_seed(0)
    config = config_class(**WIDTHS, **more, num_hidden_layers=layers, attn_implementation="sdpa")
    return model_class(config).to(dtype)


def spec_of(targets: list[str], dropout: float, *, checkpointing: bool) -> LoraSpec:
    lora = {"rank": 8, "alpha": 16, "target_modules": targets, "dropout": dropout}
    return LoraSpec(base_model="x", lora=lora, prepare={"gradient_checkpointing": checkpointing})


def kept_bytes(model, spec: LoraSpec, *, adapter_float32: bool) -> int:
    """Storages that the forward pass saves for the backward pass, parameters left out."""
    from peft import get_peft_model

    model.enable_input_require_grads()
    model = get_peft_model(model, spec.to_peft(), autocast_adapter_dtype=adapter_float32)
    if spec.prepare.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept, alive = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        alive.append(tensor)  # a freed storage would lend its address to another
        kept.setdefault(storage.data_ptr(), 0 if storage.data_ptr() in own else storage.nbytes())
        return tensor

    model.train()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(input_ids=torch.randint(0, 512, BATCH), use_cache=False)
    return sum(kept.values())


@pytest.mark.filterwarnings("ignore")  # PEFT's and transformers' own
@pytest.mark.parametrize(("dtype", "adapter"), [(torch.bfloat16, 2), (torch.bfloat16, 4), (torch.float32, 4)], ids=str)
@pytest.mark.parametrize(
    ("name", "targets"),
    [("llama", ["q_proj", "v_proj"]), ("llama", ["down_proj", "o_proj"]), *((name, ALL) for name in CLASSES)],
    ids=str,
)
def test_a_layer_keeps_what_the_closed_form_says(
    name: str, targets: list[str], dtype: torch.dtype, adapter: int
) -> None:
    assert measured(name, targets, dtype, adapter) == stated(name, targets, dtype, adapter)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "adapter"), [(torch.bfloat16, 2), (torch.bfloat16, 4), (torch.float32, 4)], ids=str)
def test_dropout(dtype: torch.dtype, adapter: int) -> None:
    assert measured("llama", ALL, dtype, adapter, dropout=0.1) == stated("llama", ALL, dtype, adapter, dropout=0.1)


@pytest.mark.filterwarnings("ignore")
def test_with_checkpointing_a_layer_keeps_its_input() -> None:
    tokens = BATCH[0] * BATCH[1]
    assert measured("llama", ALL, torch.bfloat16, 4, checkpointing=True) == 2 * WIDTHS["hidden_size"] * tokens


def measured(
    name: str,
    targets: list[str],
    dtype: torch.dtype,
    adapter: int,
    *,
    dropout: float = 0.0,
    checkpointing: bool = False,
) -> int:
    """Of one layer: the difference of a deeper and a shallower model."""
    spec = spec_of(targets, dropout, checkpointing=checkpointing)
    deep, shallow = (
        kept_bytes(model_of(name, layers, dtype), spec, adapter_float32=adapter == 4 and dtype is not torch.float32)
        for layers in (2, 1)
    )
    return deep - shallow


def stated(name: str, targets: list[str], dtype: torch.dtype, adapter: int, *, dropout: float = 0.0) -> int:
    spec = spec_of(targets, dropout, checkpointing=False)
    totals = []
    for layers in (2, 1):
        tree = tree_of(model_of(name, layers, dtype))
        inputs = activation_inputs(match(tree, peft_arguments(spec)))
        total, note = activation_bytes(spec, tree, BATCH[0] * BATCH[1], inputs, SIZES[dtype], adapter)
        assert total is not None, note
        totals.append(total)
    return totals[0] - totals[1]
