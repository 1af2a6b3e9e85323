"""The floor of a cold check: compose a file with PyYAML's C loader and validate it with 40 fields in six nested models."""

import sys

import yaml
from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Adapter(Strict):
    rank: int
    alpha: float
    target_modules: list[str]
    dropout: float = 0.0
    bias: str = "none"
    use_rslora: bool = False
    use_dora: bool = False
    modules_to_save: list[str] | None = None
    exclude_modules: list[str] | None = None
    init: str = "default"


class Prepare(Strict):
    dtype: str = "bfloat16"
    adapter_dtype: str = "float32"
    gradient_checkpointing: bool = False
    attn_implementation: str | None = None
    seed: int | None = None
    device: str | None = None


class Quantization(Strict):
    bits: int = 4
    quant_type: str = "nf4"
    double_quant: bool = True
    compute_dtype: str | None = None


class Train(Strict):
    world_size: int = 1
    batch_size: int = 1
    sequence_length: int = 1
    optimizer: str = "adamw"
    steps: int = 1
    warmup: int = 0
    decay: float = 0.0


class Serve(Strict):
    engine: str = "vllm"
    max_lora_rank: int | None = None
    port: int = 0
    host: str = ""
    name: str = ""


class Root(Strict):
    base_model: str
    revision: str | None = None
    model_class: str | None = None
    lora: Adapter
    prepare: Prepare = Prepare()
    quantization: Quantization | None = None
    train: Train | None = None
    serve: Serve | None = None


def plain(node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return {key.value: plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    if node.tag.endswith((":int", ":float", ":bool")):
        return yaml.safe_load(node.value)
    return node.value


with open(sys.argv[1], encoding="utf-8") as file:
    Root.model_validate(plain(yaml.compose(file, yaml.CSafeLoader)))
