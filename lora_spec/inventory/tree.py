"""A model as plain values: every module with its class, kind and shapes, and what else a plan needs to know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeAlias

Shape: TypeAlias = tuple[int, ...]


class Kind(StrEnum):
    """What PEFT sees in a module: it goes by Python class, so a subclass has its parent's kind.

    ``CONV1D`` is the Conv1D of transformers, whose weight is (in, out); ``CONV`` any convolution of PyTorch;
    ``CONTAINER`` a list or dict of modules or parameters.
    """

    LINEAR = "linear"
    CONV1D = "conv1d"
    EMBEDDING = "embedding"
    CONV = "conv"
    ATTENTION = "multihead_attention"
    CONTAINER = "container"
    OTHER = "other"


class Module(NamedTuple):
    """One module. ``parameters`` and ``buffers`` are those that it holds itself, by name, in registration order.

    ``groups`` is a convolution's; ``transposed`` is true for fused experts that are stored (experts, in, out).
    """

    name: str
    class_name: str
    kind: Kind
    parameters: tuple[tuple[str, Shape], ...] = ()
    buffers: tuple[tuple[str, Shape], ...] = ()
    groups: int = 1
    transposed: bool = False

    @property
    def leaf(self) -> str:
        """The last segment of the name."""
        return self.name.rpartition(".")[2]

    def shape(self, parameter: str) -> Shape | None:
        """The shape of a parameter that the module holds itself, or None."""
        for name, shape in self.parameters:
            if name == parameter:
                return shape
        return None

    @property
    def in_out(self) -> tuple[int, int] | None:
        """Inputs and outputs of a linear layer or embedding (number of embeddings, dimension); else None."""
        weight = self.shape("weight")
        if weight is None or len(weight) != 2:
            return None
        if self.kind is Kind.LINEAR:
            return weight[1], weight[0]
        return (weight[0], weight[1]) if self.kind in (Kind.CONV1D, Kind.EMBEDDING) else None


class Numbers(NamedTuple):
    """What the memory estimate needs of the (text) config; None where the config does not say."""

    hidden_size: int | None = None
    layers: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    moe_intermediate_size: int | None = None


@dataclass(frozen=True)
class ModuleTree:
    """A model's modules in the order of ``named_modules()``, the root first, under its empty name.

    A module that stands under two names is listed once, under its first; ``aliases`` maps the other names to it.
    ``ties`` maps a parameter that shares its storage to the name that counts. ``tied_modules`` are the modules that
    PEFT takes as tied to the input embedding (empty where the config says not to tie). ``wrap_classes`` are the
    model's own FSDP units. ``generates`` says whether it has `prepare_inputs_for_generation`, which PEFT's classes for
    CAUSAL_LM and SEQ_2_SEQ_LM ask for; ``unwrappable`` that the model cannot name its embedding, so that PEFT raises
    NotImplementedError whatever is asked. ``quantization`` is the checkpoint's method, such as fp8. ``note`` says what a reader of a
    report has to know of where the tree is from.
    """

    modules: tuple[Module, ...]
    model_type: str
    model_class: str
    aliases: dict[str, str] = field(default_factory=dict)
    ties: dict[str, str] = field(default_factory=dict)
    tied_modules: tuple[str, ...] = ()
    input_embeddings: str | None = None
    output_embeddings: str | None = None
    is_pretrained_model: bool = True
    generates: bool = True
    unwrappable: bool = False
    wrap_classes: tuple[str, ...] = ()
    tie_word_embeddings: bool = False
    quantization: str | None = None
    numbers: Numbers = Numbers()  # noqa: RUF009 - a tuple, it cannot change
    note: str = ""

    def __repr__(self) -> str:
        """Short: a tree has thousands of modules."""
        return f"ModuleTree({self.model_class}, {len(self.modules)} modules)"

    @cached_property
    def by_name(self) -> dict[str, Module]:
        """Modules by full name."""
        return {module.name: module for module in self.modules}

    def parameters(self) -> Iterator[tuple[str, Shape]]:
        """Every parameter once, by its full name; of tied ones the first."""
        for module in self.modules:
            for name, shape in module.parameters:
                full = f"{module.name}.{name}" if module.name else name
                if full not in self.ties:
                    yield full, shape

    @property
    def parameter_count(self) -> int:
        """The number of parameters, tied ones once: what ``sum(p.numel() for p in model.parameters())`` gives."""
        return sum(prod(shape) for _, shape in self.parameters())

    def below(self, name: str) -> Iterator[Module]:
        """The module of that name and everything in it."""
        for module in self.modules:
            if not name or module.name == name or module.name.startswith(f"{name}."):
                yield module

    def size(self, name: str) -> int:
        """The parameters of a module with all that is in it, each storage once."""
        seen: set[str] = set()
        total = 0
        for module in self.below(name):
            for parameter, shape in module.parameters:
                full = f"{module.name}.{parameter}" if module.name else parameter
                canonical = self.ties.get(full, full)
                total += 0 if canonical in seen else prod(shape)
                seen.add(canonical)
        return total
