"""What a match says, as frozen values."""

from __future__ import annotations

from enum import StrEnum
from math import prod
from typing import NamedTuple

from lora_spec.inventory.tree import Kind, Shape


class Reason(StrEnum):
    """Why PEFT refuses. The names of `Refusal` are the modules, entries or options concerned."""

    ARGUMENTS = "arguments that LoraConfig does not take together"
    BAD_REGEX = "not a regular expression"
    NO_EMBEDDING = "a model that cannot name its embedding"
    HALF_FUSED = "only some of the projections that are fused in one parameter"
    NO_DEFAULT_TARGETS = "no targets, and PEFT has none by default for this model type"
    NOTHING_MATCHED = "nothing matched"
    ALL_EXCLUDED = "everything that matched is excluded or saved in full"
    UNSUPPORTED_MODULE = "a module that LoRA cannot adapt"
    MAMBA_MODULE = "a module of a Mamba block that its kernel reads past the adapter"
    GROUPS = "a rank that the groups of a convolution do not divide"
    CONVOLUTION = "a convolution that PEFT cannot build again"
    VARIANT = "a LoRA variant or an init that this kind of module does not have"
    EMBEDDING_BIAS = "a LoRA bias on an embedding"
    ATTENTION_WIDTHS = "attention whose query, key and value differ in width"
    ATTENTION_DORA = "DoRA on multi-head attention"
    PARAMETER_OPTION = "an option that does not work on parameters"
    PARAMETER_SHAPE = "a parameter that has neither 2 nor 3 dimensions"
    PARAMETER_OF_ADAPTED = "a parameter of a module that is adapted itself"
    PARAMETER_OF_ROOT = "a parameter of the model itself"
    SAVED_CONTAINER = "a list or dict of modules saved in full"
    SAVED_ADAPTED = "an adapted module saved in full"
    SAVED_IN_ADAPTER = "a part of an adapter saved in full"
    TOKENS_NOT_FOUND = "no module of the name for trainable tokens"
    TOKENS_AND_SAVED = "trainable tokens of a module that is saved in full"
    TOKENS_DIFFER = "different token indices for tied modules"
    TOKENS_MODULE = "trainable tokens of a module that is no embedding"
    INDEX_OUT_OF_RANGE = "a token index beyond the vocabulary"
    NO_LAYERS = "no list of layers to replicate"
    LAYER_OUT_OF_RANGE = "a layer to replicate that the model lacks"
    NOT_GENERATIVE = "a model that cannot generate, for a task that does"
    TIED_NOT_ADAPTED = "a tied module whose embedding is not adapted"
    LOST_MODULE = "a module that a wrapper put out of reach"


class Refusal(NamedTuple):
    """PEFT raises: ``exception`` is the name of the class that it raises."""

    reason: Reason
    exception: str
    names: tuple[str, ...] = ()


class Adapted(NamedTuple):
    """A module or parameter that gets LoRA matrices, whose trainable tensors have the ``shapes``.

    ``in_out`` are the widths that LoRA bridges. ``entry`` is the place in target_modules or target_parameters of the
    entry that brought it, None where that is a regex, ``all-linear``, a default or something PEFT added.
    ``converted_from`` are the entries of target_modules that PEFT's conversion of expert names turned into this
    parameter (`_convert_peft_config_moe`, PEFT 0.21.2).
    """

    name: str
    kind: Kind | None
    in_out: tuple[int, int]
    rank: int
    alpha: float
    scale: float
    shapes: tuple[Shape, ...]
    entry: int | None = None
    converted_from: tuple[str, ...] = ()
    experts: int = 1

    @property
    def parameters(self) -> int:
        """How many trainable parameters it adds."""
        return sum(prod(shape) for shape in self.shapes)


class Saved(NamedTuple):
    """A module that is trained in full. ``entry`` is None where the task type added it; a tied one adds nothing."""

    name: str
    entry: int | None
    parameters: int


class Tokens(NamedTuple):
    """Rows of an embedding that are trained. A tied module shares the rows of its embedding and adds nothing."""

    name: str
    indices: tuple[int, ...]
    parameters: int


class Biases(NamedTuple):
    """Biases of the base model that ``bias`` makes trainable."""

    names: tuple[str, ...] = ()
    parameters: int = 0


class Entry(NamedTuple):
    """What one entry of one list matched; ``place`` is where it stands in its list, None where there is no list.

    ``names`` is what it matches as it is written, ``effect`` what it brought about:

    | field | names | effect |
    |---|---|---|
    | target_modules | modules of that name | modules and parameters adapted by it |
    | target_parameters | parameters | parameters adapted by it |
    | exclude_modules | modules | modules that it took from LoRA |
    | modules_to_save | modules that are trained in full | modules that it took from LoRA |
    | rank_pattern, alpha_pattern | adapted modules and parameters | those whose value it sets |
    | layers_to_transform | targets in that layer | those adapted |
    | trainable_token_indices | modules | modules |
    """

    field: str
    place: int | None
    entry: str
    names: tuple[str, ...]
    effect: tuple[str, ...]


class Effective(NamedTuple):
    """The arguments as PEFT has them after its own conversions: what `adapter_config.json` will say."""

    target_modules: str | tuple[str, ...] | None = None
    target_parameters: tuple[str, ...] = ()
    rank_pattern: tuple[tuple[str, int], ...] = ()
    alpha_pattern: tuple[tuple[str, float], ...] = ()
    modules_to_save: tuple[str, ...] = ()


class Match(NamedTuple):
    """What PEFT would do. Where it refuses, the counts are 0 and the lists hold what had matched.

    ``trainable_parameters`` and ``all_parameters`` are what `PeftModel.get_nb_trainable_parameters()` gives.
    ``inexact`` says what makes the counts unsure; ``exact`` is true where it is empty.
    """

    modules: tuple[Adapted, ...] = ()
    parameters: tuple[Adapted, ...] = ()
    saved: tuple[Saved, ...] = ()
    tokens: tuple[Tokens, ...] = ()
    biases: Biases = Biases()
    trainable_parameters: int = 0
    all_parameters: int = 0
    refusal: Refusal | None = None
    effective: Effective = Effective()
    entries: tuple[Entry, ...] = ()
    inexact: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the result is held against PEFT for what was asked."""
        return not self.inexact

    @property
    def excluded(self) -> tuple[str, ...]:
        """The modules that an exclusion took from LoRA."""
        return tuple(n for e in self.entries if e.field == "exclude_modules" for n in e.effect)

    def of(self, field: str) -> tuple[Entry, ...]:
        """The entries of one list."""
        return tuple(entry for entry in self.entries if entry.field == field)


class RefusedError(Exception):
    """Carries a refusal out of the step that found it."""

    def __init__(self, reason: Reason, exception: str, *names: str) -> None:
        """Keep the refusal."""
        super().__init__(reason.value)
        self.refusal = Refusal(reason, exception, names)
