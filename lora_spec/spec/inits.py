"""How a new adapter's weights start: one closed model for each init, chosen by ``kind``."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from lora_spec.base import StrictModel


class DefaultInit(StrictModel):
    """Kaiming-uniform lora_A and zero lora_B: the adapter starts as the base model (PEFT's `true`)."""

    kind: Literal["default"] = "default"


class RandomInit(StrictModel):
    """Both matrices random: the adapter does not start as the base model; for debugging (PEFT's `false`)."""

    kind: Literal["random"]


class GaussianInit(StrictModel):
    """Gaussian lora_A scaled by the rank, zero lora_B."""

    kind: Literal["gaussian"]


class OrthogonalInit(StrictModel):
    """Orthogonal lora_A and lora_B; linear layers and even ranks only."""

    kind: Literal["orthogonal"]


class OloraInit(StrictModel):
    """OLoRA: QR decomposition of the base weight, which changes the base weight."""

    kind: Literal["olora"]


class MicaInit(StrictModel):
    """MiCA: lora_B holds the smallest left singular vectors and stays frozen, lora_A trains."""

    kind: Literal["mica"]


class PissaInit(StrictModel):
    """PiSSA: principal singular vectors of the base weight, which changes the base weight."""

    kind: Literal["pissa"]
    niter: Annotated[int, Field(ge=1)] | None = None
    """Iterations of the fast randomized SVD (`pissa_niter_N`); absent: the exact SVD."""


class EvaInit(StrictModel):
    """EVA: data-driven, from the singular vectors of the layer inputs; needs a pass over data after wrapping."""

    kind: Literal["eva"]
    rho: Annotated[float, Field(ge=1)] = 2.0
    """Redistribution of ranks: a layer may get up to rank x rho; 1 keeps them equal."""
    tau: Annotated[float, Field(ge=0, le=1)] = 0.99
    """Cosine similarity of two SVD steps above which a layer counts as converged."""
    use_label_mask: bool = True
    """Leave positions out whose label is `label_mask_value`."""
    label_mask_value: int = -100
    """The label that marks positions to leave out."""
    whiten: bool = False
    """Whiten the singular vectors."""
    adjust_scaling_factors: bool = True
    """Adjust the scale of each layer to its redistributed rank."""


class CordaInit(StrictModel):
    """CorDA: context-oriented decomposition; needs `preprocess_corda` before wrapping."""

    kind: Literal["corda"]
    cache_file: str | None = None
    """Where the SVD is cached."""
    covariance_file: str | None = None
    """Where the covariance matrices are stored."""
    corda_method: Literal["ipm", "kpm"] = "ipm"
    """`ipm` (instruction previewed) or `kpm` (knowledge preserved)."""
    verbose: bool = False
    """Print progress."""
    use_float16_for_covariance: bool = False
    """Covariance in half precision: half the memory, less stable."""
    prune_temporary_fields: bool = True
    """Drop what the preprocessing left on the layers."""


class LoftqInit(StrictModel):
    """LoftQ: quantises the base weight and fits the adapter to the error; needs scipy."""

    kind: Literal["loftq"]
    loftq_bits: Literal[2, 4, 8] = 4
    """Bits of the quantised base weight."""
    loftq_iter: Annotated[int, Field(ge=1)] = 1
    """Alternating steps of quantising and fitting."""


class LoraGaInit(StrictModel):
    """LoRA-GA: aligned with the first full gradients; needs `preprocess_loraga` before wrapping."""

    kind: Literal["lora_ga"]
    direction: Literal["ArBr", "A2rBr", "ArB2r", "random"] = "ArB2r"
    """Which singular components go to lora_A and which to lora_B."""
    scale: Literal["stable", "weight_svd", "gd_scale", "unit"] = "stable"
    """How the start is scaled."""
    stable_gamma: Annotated[int, Field(ge=1)] = 16
    """Gamma of the `stable` scale."""


INITS: tuple[type[StrictModel], ...] = (
    DefaultInit,
    RandomInit,
    GaussianInit,
    OrthogonalInit,
    OloraInit,
    MicaInit,
    PissaInit,
    EvaInit,
    CordaInit,
    LoftqInit,
    LoraGaInit,
)

KINDS: tuple[str, ...] = tuple(model.model_fields["kind"].annotation.__args__[0] for model in INITS)  # type: ignore[union-attr]
"""Every value of ``kind``, in the order of the models."""


def expand_init(value: Any) -> Any:
    """The long form of a short one: a bare name, or PEFT's `true` and `false`."""
    if isinstance(value, bool):
        return {"kind": "default" if value else "random"}
    return {"kind": value} if isinstance(value, str) else value


def _kind(value: Any) -> Any:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return f"<{kind}>" if isinstance(kind, str) else None


Init: TypeAlias = Annotated[
    Annotated[DefaultInit, Tag("<default>")]
    | Annotated[RandomInit, Tag("<random>")]
    | Annotated[GaussianInit, Tag("<gaussian>")]
    | Annotated[OrthogonalInit, Tag("<orthogonal>")]
    | Annotated[OloraInit, Tag("<olora>")]
    | Annotated[MicaInit, Tag("<mica>")]
    | Annotated[PissaInit, Tag("<pissa>")]
    | Annotated[EvaInit, Tag("<eva>")]
    | Annotated[CordaInit, Tag("<corda>")]
    | Annotated[LoftqInit, Tag("<loftq>")]
    | Annotated[LoraGaInit, Tag("<lora_ga>")],
    Discriminator(_kind, custom_error_type="init_kind", custom_error_message="one of " + ", ".join(KINDS)),
    BeforeValidator(expand_init),
]
