"""The `lora` section: everything that `peft.LoraConfig` can say, and the adapter to continue instead."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from lora_spec.base import StrictModel
from lora_spec.spec.inits import DefaultInit, Init
from lora_spec.spec.targets import (
    LayerIndices,
    LayerPatterns,
    LayerRanges,
    ModuleNames,
    Names,
    Numbers,
    Pattern,
    TargetModules,
    TokenIndices,
)
from lora_spec.spec.variants import Arrow, Bdlora, Kasa, Monteclora, RuntimeOptions, Velora


class Lora(StrictModel):
    """The adapter: a new one from `rank`, `alpha` and targets, or an existing one from `adapter_path`."""

    rank: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """The adapter's inner size (PEFT's `r`). 0 turns LoRA off. Required for a new adapter."""
    alpha: Annotated[float, Field(gt=0)] | None = None
    """Numerator of the scale alpha / rank (PEFT's `lora_alpha`). Required for a new adapter."""
    target_modules: TargetModules | None = None
    """Which modules get an adapter: a list of names (each a whole name or a dotted suffix), `all-linear`, or
    `{regex: '...'}`. Absent: PEFT's default for the model type."""
    exclude_modules: ModuleNames | None = None
    """Modules to leave out of the targets: a list of names or `{regex: '...'}`. A parent's name does not exclude
    its children."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout on the adapter's input (PEFT's `lora_dropout`)."""
    bias: Literal["none", "all", "lora_only"] = "none"
    """Which biases of the base model train. Anything but `none` changes the base even with the adapter disabled."""
    use_rslora: bool = False
    """Scale by alpha / sqrt(rank) instead of alpha / rank."""
    modules_to_save: Names | None = None
    """Modules that train in full and are saved with the adapter, such as a new head."""
    init: Init = DefaultInit()
    """How the weights start (PEFT's `init_lora_weights`): a kind with its settings, or the kind's name alone."""
    layers_to_transform: LayerIndices | None = None
    """Adapt these layers only; for a list of target names alone."""
    layers_pattern: LayerPatterns | None = None
    """Name of the list that holds the layers, such as `layers` or `h`, where PEFT does not find it itself."""
    rank_pattern: dict[Pattern, Annotated[int, Field(ge=1, le=1_000_000)]] = Field(default_factory=dict)
    """Other ranks by module name or regex; the first match wins."""
    alpha_pattern: dict[Pattern, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Other alphas by module name or regex; the first match wins."""
    target_parameters: Names | None = None
    """Parameters to adapt that no module of their own holds, such as fused experts: `mlp.experts.gate_up_proj`."""
    trainable_token_indices: TokenIndices | None = None
    """Tokens whose embeddings train: a list of ids, or a map from embedding name to such a list."""
    ensure_weight_tying: bool = False
    """Keep tied embeddings tied when one of them trains."""
    use_dora: bool = False
    """Weight-decomposed LoRA: a trainable magnitude beside the direction."""
    lora_bias: bool = False
    """A trainable bias in lora_B."""
    layer_replication: LayerRanges | None = None
    """Build a deeper model by repeating ranges of layers that share their weights."""
    fan_in_fan_out: bool = False
    """The targets store their weights as (in, out). PEFT corrects it for Conv1D and Linear by itself."""
    task_type: (
        Literal["CAUSAL_LM", "SEQ_2_SEQ_LM", "SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"] | None
    ) = None
    """What the model is used for. Absent: by the model class."""
    megatron_config: dict[str, JsonValue] | None = None
    """Arguments of Megatron's TransformerConfig, for Megatron's parallel linear layers."""
    megatron_core: str = "megatron.core"
    """The Megatron module to use with `megatron_config`."""
    alora_invocation_tokens: Numbers | None = None
    """Activated LoRA: the adapter works from this token sequence on."""
    use_qalora: bool = False
    """Quantisation-aware LoRA, for GPTQ layers."""
    qalora_group_size: Annotated[int, Field(ge=1)] = 16
    """Group size of QALoRA's pooling."""
    velora_config: Velora | None = None
    """Compress activations with VeLoRA."""
    monteclora_config: Monteclora | None = None
    """Sample around the weights with MonteCLoRA."""
    use_bdlora: Bdlora | None = None
    """Block-diagonal factors for serving on several devices."""
    arrow_config: Arrow | None = None
    """Route tokens among trained LoRA modules."""
    kasa_config: Kasa | None = None
    """Truncate the base weight and train a diagonal with KaSA."""
    runtime_config: RuntimeOptions = RuntimeOptions()
    """Settings of this run alone, never saved."""
    adapter_path: Annotated[str, Field(min_length=1)] | None = None
    """Folder of an adapter to continue. Rank, alpha, targets and all else then come from the adapter."""
    adapter_name: Annotated[str, Field(pattern=r"^[^.]+$")] = "default"
    """The name under which PEFT keeps the adapter; no dots."""
