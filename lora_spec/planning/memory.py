"""Bytes on one device while it trains: what is exact, what is estimated, and what is not known.

Parameters, gradients and optimizer states are counted. Activations follow the closed form that was measured on
decoders with RMSNorm and a gated MLP (docs/memory.md has the measurements); for other models they are not known.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from lora_spec.inventory.matching import Match
from lora_spec.inventory.tree import Kind, ModuleTree, Shape
from lora_spec.planning.activations import ActivationInputs, activation_bytes, logit_bytes
from lora_spec.planning.units import plan_units, sharded
from lora_spec.spec.root import LoraSpec

BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
OPTIMIZER_BYTES = {"adamw": 2.0, "adamw_8bit": None, "sgd": 0.0, "adafactor": None}
"""State bytes per byte of parameter; None where the state is not kept in the parameter's dtype."""

CONTEXT_BYTES = 3 << 29
"""Upper bound of what the CUDA context and NCCL take: 1.5 GiB."""


class Trainable(NamedTuple):
    """Tensors that train: their shapes, for sharding. ``is_adapter`` tensors are in the adapter's dtype."""

    shapes: tuple[Shape, ...]


class Memory(NamedTuple):
    """Bytes on the device that holds most. A part that is not known is None and left out of the total, which is then a
    lower bound; ``notes`` say which and why.
    """

    devices: int
    frozen: int
    adapter: int
    gradients: int
    optimizer: int
    transient: int
    activations: int | None
    logits: int | None
    total: int
    lower: int
    upper: int
    notes: tuple[str, ...] = ()


class Run(NamedTuple):
    """The run's shape: flags first, then the document's `train` section."""

    world_size: int = 1
    batch_size: int | None = None
    sequence_length: int | None = None
    optimizer: str = "adamw"

    @property
    def tokens(self) -> int | None:
        """Tokens of a micro-batch on one device."""
        return self.batch_size * self.sequence_length if self.batch_size and self.sequence_length else None


def run_of(spec: LoraSpec, **flags: int | str | None) -> Run:
    """The run that ``spec`` and the flags describe; a flag that is None is not given."""
    said = {name: value for name, value in spec.train or () if value is not None}
    return Run(**said | {name: value for name, value in flags.items() if value is not None})


def estimate(spec: LoraSpec, tree: ModuleTree, trainable: Trainable, run: Run, inputs: ActivationInputs) -> Memory:
    """Memory on one device for ``spec`` on ``tree`` in ``run``."""
    shards = _shards(spec, run)
    dtype = BYTES.get(spec.prepare.dtype, 4)
    adapter_dtype = dtype if spec.prepare.adapter_dtype == "auto" else BYTES[spec.prepare.adapter_dtype]
    mine = sharded(trainable.shapes, shards)
    adapter = mine * adapter_dtype
    frozen = _frozen(spec, tree, dtype, shards)
    optimizer, note = _optimizer(run, trainable.shapes, mine, adapter_dtype)
    transient, root = _transient(spec, tree, dtype, shards, gradients=adapter)
    activations, why = activation_bytes(spec, tree, run.tokens, inputs, dtype, adapter_dtype)
    logits = logit_bytes(tree, run.tokens, dtype)
    known = frozen + adapter + adapter + optimizer + root + (activations or 0) + (logits or 0)
    total = known + transient
    return Memory(
        devices=run.world_size,
        frozen=frozen,
        adapter=adapter,
        gradients=adapter,
        optimizer=optimizer,
        transient=transient + root,
        activations=activations,
        logits=logits,
        total=total,
        lower=known + transient // 2,
        upper=int(1.1 * (known + transient * 3 // 2)) + CONTEXT_BYTES,
        notes=tuple(filter(None, (why, note))),
    )


def activation_inputs(matched: Match) -> ActivationInputs:
    """What of the adapter the activations depend on. In the base's own dtype the query, key and value projections of a
    layer share their input, gate and up theirs, and the output projection has the attention's, which is kept anyway.
    """
    linear = [adapted for adapted in matched.modules if adapted.kind is Kind.LINEAR]
    shared: dict[tuple[str, str], int] = {}
    for adapted in linear:
        owner, _, leaf = adapted.name.rpartition(".")
        if (source := _INPUT_OF.get(leaf)) is not None:
            shared[owner, source] = adapted.in_out[0]
    return ActivationInputs(
        inputs=sum(adapted.in_out[0] for adapted in linear),
        shared_inputs=sum(shared.values()),
        ranks=sum(adapted.rank for adapted in linear),
    )


_INPUT_OF = {
    "q_proj": "hidden",
    "k_proj": "hidden",
    "v_proj": "hidden",
    "gate_proj": "hidden",
    "up_proj": "hidden",
    "down_proj": "mlp",
}


def _shards(spec: LoraSpec, run: Run) -> int:
    fsdp = spec.prepare.fsdp
    if fsdp is None or fsdp.strategy == "ddp":
        return 1
    return fsdp.shard or max(1, run.world_size // (fsdp.replicate or 1))


def _frozen(spec: LoraSpec, tree: ModuleTree, dtype: int, shards: int) -> int:
    """The base model, and its buffers; on the CPU where FSDP offloads it."""
    fsdp = spec.prepare.fsdp
    if fsdp is not None and fsdp.cpu_offload:
        return 0
    shapes = tuple(shape for _, shape in tree.parameters())
    if spec.quantization is None:
        return sharded(shapes, shards) * dtype
    packed = quantized_weights(tree)
    inside = sum(map(prod, packed.values()))
    rest = tuple(shape for name, shape in tree.parameters() if name not in packed)
    return int(inside * _packed_bytes(spec) / shards) + sharded(rest, shards) * dtype


def quantized_weights(tree: ModuleTree) -> dict[str, Shape]:
    """The weights that bitsandbytes quantises through transformers: linear layers but the output head."""
    linear = (m for m in tree.modules if m.kind in (Kind.LINEAR, Kind.CONV1D) and m.name != tree.output_embeddings)
    return {f"{m.name}.weight": shape for m in linear if (shape := m.shape("weight")) is not None}


def _packed_bytes(spec: LoraSpec) -> float:
    """Bytes of a quantised weight with its scales: one float32 per 64 weights, itself in 8 bit with double quant."""
    assert spec.quantization is not None
    if spec.quantization.bits == 8:
        return 1.0
    return 0.5 + (1 / 64 + 4 / (64 * 256) if spec.quantization.double_quant else 4 / 64)


def _optimizer(run: Run, shapes: tuple[Shape, ...], mine: int, dtype: int) -> tuple[int, str]:
    if run.optimizer == "adamw_8bit":
        return mine * 2, ""
    if run.optimizer == "adafactor":
        factors = sum(shape[0] + prod(shape[1:]) if len(shape) > 1 else prod(shape) for shape in shapes)
        return factors * 4, "adafactor's states are counted as one row and one column a matrix"
    return int(mine * dtype * (OPTIMIZER_BYTES[run.optimizer] or 0)), ""


def _transient(spec: LoraSpec, tree: ModuleTree, dtype: int, shards: int, *, gradients: int) -> tuple[int, int]:
    """What comes and goes, twice the largest FSDP unit (the current and the prefetched one), and the root unit, which
    stays. Without shards: DDP's buckets, or the largest weight that a quantised base unpacks.
    """
    fsdp = spec.prepare.fsdp
    if fsdp is not None and fsdp.strategy == "ddp":
        return gradients, 0
    if shards == 1:
        weights = quantized_weights(tree) if spec.quantization else {}
        return max((prod(shape) for shape in weights.values()), default=0) * dtype, 0
    assert fsdp is not None
    root, *units = plan_units(tree, fsdp.wrap_classes)
    gathered = BYTES[fsdp.param_dtype] if fsdp.param_dtype else dtype
    if not fsdp.reshard_after_forward:
        return sum(unit.parameters for unit in units) * gathered, root.parameters * gathered
    return 2 * max((unit.parameters for unit in units), default=0) * gathered, root.parameters * gathered
