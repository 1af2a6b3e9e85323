"""The counted parts of the memory estimate against a real step of training, to the byte."""

import pytest

from lora_spec import LoraSpec, plan, prepare
from lora_spec.planning.memory import Memory

torch = pytest.importorskip("torch")

OPTIMIZERS = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
}


def spec_of(optimizer: str, adapter_dtype: str) -> LoraSpec:
    return LoraSpec(
        base_model="x",
        lora={"rank": 4, "alpha": 8, "target_modules": ["q_proj", "v_proj", "down_proj"]},
        prepare={"dtype": "bfloat16", "adapter_dtype": adapter_dtype},
        train={"batch_size": 2, "sequence_length": 16, "optimizer": optimizer},
    )


def memory_of(spec: LoraSpec, model: object) -> Memory:
    memory = plan(spec, model).memory
    assert memory is not None
    return memory


def size(tensors: object) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.filterwarnings("ignore")  # PEFT's and transformers' own
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("adapter_dtype", ["float32", "bfloat16"])
def test_frozen_adapter_gradients_and_optimizer(tiny_models, optimizer: str, adapter_dtype: str) -> None:
    spec, base = spec_of(optimizer, adapter_dtype), tiny_models("dense")
    memory = memory_of(spec, base)
    model = prepare(base, spec).model
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    batch = torch.randint(0, 300, (2, 16))
    model(input_ids=batch, labels=batch).loss.backward()
    steps = OPTIMIZERS[optimizer](trained)
    steps.step()
    states = [
        tensor
        for state in steps.state.values()
        for name, tensor in state.items()
        if name != "step" and tensor is not None
    ]
    assert memory.frozen == size(p for p in model.parameters() if not p.requires_grad)
    assert memory.adapter == size(trained)
    assert memory.gradients == size(p.grad for p in trained)
    assert memory.optimizer == size(states)


def test_the_worst_rank_holds_the_rows_that_torch_chunk_gives_it() -> None:
    from lora_spec.planning.units import sharded

    shapes = ((10, 3), (4, 5), (7,))
    for ranks in (1, 2, 3, 4, 8, 16):
        largest = [max(chunk.numel() for chunk in torch.empty(shape).chunk(ranks)) for shape in shapes]
        assert sharded(shapes, ranks) == sum(largest)
