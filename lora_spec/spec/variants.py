"""Variants of LoRA that carry settings of their own, under PEFT's names (peft 0.21.2, `tuners/lora/config.py`)."""

from typing import Annotated, Literal

from pydantic import Field

from lora_spec.base import StrictModel
from lora_spec.spec.targets import Names


class Velora(StrictModel):
    """VeLoRA: compresses the input activations that are kept for the backward pass."""

    num_groups: Annotated[int, Field(ge=1)] = 64
    """Feature groups that the activation depth is split into."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Scale of the reconstructed activations."""
    init_type: Literal["batch_average", "batch_average_once", "random"] = "batch_average"
    """How the projection starts."""


class Arrow(StrictModel):
    """Arrow: routes each token to trained LoRA modules; `create_arrow_model` fills in their names."""

    top_k: Annotated[int, Field(ge=1)] = 3
    """LoRA modules that are combined for a token."""
    router_temperature: Annotated[float, Field(gt=0)] = 1.0
    """Softmax temperature of the routing."""
    use_gks: bool = False
    """Subtract general knowledge first (GenKnowSub)."""
    rng_seed: int | None = None
    """Seed; absent: not deterministic."""


class Bdlora(StrictModel):
    """BD-LoRA: block-diagonal factors for serving on several devices."""

    target_modules_bd_a: Names | None = None
    """Modules whose lora_A is block-diagonal: those that are sharded by rows, such as `o_proj`, `down_proj`."""
    target_modules_bd_b: Names | None = None
    """Modules whose lora_B is block-diagonal: those that are sharded by columns, such as `q_proj`, `up_proj`."""
    nblocks: Annotated[int, Field(ge=1)] = 1
    """Blocks: the sharding degree at serving."""
    match_strict: bool = True
    """Every target must be in one of the two lists."""


class Kasa(StrictModel):
    """KaSA: SVD-truncated base weight and a trainable diagonal; changes the base weight for good."""

    beta: Annotated[float, Field(ge=0)] = 1e-4
    """L2 regularization; works only when the trainer adds `LoraModel._get_kasa_loss`."""
    gamma: Annotated[float, Field(ge=0)] = 1e-3
    """Orthogonal regularization; works only when the trainer adds `LoraModel._get_kasa_loss`."""


class Monteclora(StrictModel):
    """MonteCLoRA: samples around the adapter weights."""

    num_samples: Annotated[int, Field(ge=1)] = 8
    """Samples in a forward pass."""
    use_entropy: bool = False
    """Keep the sample weights from collapsing to one."""
    dirichlet_prior: Annotated[float, Field(gt=0)] = 0.1
    """Prior of the sample weights."""
    sample_scaler: float = 1e-4
    """Scale of the perturbations."""
    kl_loss_weight: float = 1e-5
    """Weight of the KL term."""
    buffer_size: Annotated[int, Field(ge=1)] = 150
    """Size of the sampler's buffer."""


class RuntimeOptions(StrictModel):
    """What holds for this run alone and is never saved with the adapter."""

    ephemeral_gpu_offload: bool = False
    """Move data to the GPU for heavy steps alone; affects the DoRA start only."""
