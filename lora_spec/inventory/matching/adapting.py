"""LoRA on modules and parameters: `LoraModel._create_and_replace` and `BaseTuner._inject_parameters` (PEFT 0.21.2)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from lora_spec.inventory.matching.graph import TUNERS, Node, Role, Tensor, find, placed
from lora_spec.inventory.matching.names import Patterns, Suffixes
from lora_spec.inventory.matching.result import Adapted, Reason, RefusedError
from lora_spec.inventory.matching.settings import Pattern, Settings
from lora_spec.inventory.matching.shapes import (
    Tensors,
    check_parameter_init,
    check_parameter_options,
    module_tensors,
    parameter_tensors,
    scale_of,
)
from lora_spec.inventory.matching.tables import mamba_modules, mamba_types
from lora_spec.inventory.tree import Kind, Module, ModuleTree, Shape


class Values:
    """Rank or alpha by name: the first key of the pattern that matches, else the value for all."""

    def __init__(self, pattern: Pattern, default: Any) -> None:
        """Compile the keys."""
        self.pattern = Patterns(key for key, _ in pattern)
        self.values = [value for _, value in pattern]
        self.default = default
        self.hits: dict[str, list[int]] = {}

    def of(self, name: str) -> Any:
        """The value for ``name``; remembers which keys matched it."""
        if not self.values:
            return self.default
        hits = self.pattern.hits(name)
        if hits:
            self.hits[name] = hits
        return self.values[hits[0]] if hits else self.default

    def check(self, *, any_module: bool) -> None:
        """Refuses a key that is no regex, as PEFT does when it looks for keys that matched no module."""
        if any_module and self.pattern.bad:
            raise self.pattern.refusal()


class Adapter:
    """Puts LoRA on nodes, one after the other, as PEFT does.

    ``fan_in_fan_out`` changes on the way: PEFT sets it to fit the last linear layer that it adapted
    (`dispatch_default`, PEFT 0.21.2).
    """

    def __init__(self, tree: ModuleTree, root: Node, settings: Settings) -> None:
        """Start with nothing adapted."""
        self.tree = tree
        self.root = root
        self.settings = settings
        self.ranks = Values(settings.rank_pattern, settings.r)
        self.alphas = Values(settings.alpha_pattern, settings.lora_alpha)
        self.fan_in_fan_out = settings.fan_in_fan_out
        self.embedding_rank = settings.r
        self.mamba = tree.model_type in mamba_types()

    def adapt_module(self, name: str, entry: int | None, *, tied: bool = False) -> Adapted:
        """LoRA on the module of that name."""
        self._check_mamba(name)
        parent, node = placed(self.root, name)
        if node.module is None:
            raise RefusedError(Reason.UNSUPPORTED_MODULE, "ValueError", name)
        rank, alpha = self.ranks.of(name), self.alphas.of(name)
        tensors = module_tensors(node.module, self._tied_rank(name, rank, tied=tied), self.settings)
        if name == self.tree.input_embeddings:
            self.embedding_rank = rank
        if node.kind in (Kind.LINEAR, Kind.CONV1D):
            self.fan_in_fan_out = node.kind is Kind.CONV1D
        self._wrap(parent, name, node, Role.LORA, tensors)
        scale = scale_of(alpha, rank, self.settings)
        return Adapted(name, node.kind, tensors.in_out, rank, alpha, scale, tensors.shapes, entry)

    def _check_mamba(self, name: str) -> None:
        if self.mamba and name.rpartition(".")[2] in mamba_modules():
            raise RefusedError(Reason.MAMBA_MODULE, "ValueError", name)

    def _tied_rank(self, name: str, rank: int, *, tied: bool) -> int:
        """A module tied by its leaf name takes the matrices of the embedding's adapter, turned over."""
        if not tied or name.rpartition(".")[2] not in self.settings.targets_to_tie:
            return rank
        embedding = find(self.root, self.tree.input_embeddings or "")
        if embedding.role is not Role.LORA:
            raise RefusedError(Reason.TIED_NOT_ADAPTED, "AttributeError", name)
        return self.embedding_rank

    def _wrap(self, parent: Node, name: str, node: Node, role: Role, tensors: Tensors) -> None:
        wrapper = Node(role, node.kind)
        wrapper.children["base_layer"] = node
        wrapper.tensors["lora"] = Tensor((sum(map(prod, tensors.shapes)),), trainable=True)
        if node.kind is Kind.ATTENTION and role is Role.LORA:
            inner = Node(Role.LORA, Kind.LINEAR)
            inner.children["base_layer"] = node.children["out_proj"]
            node.children["out_proj"] = inner
        parent.children[name.rpartition(".")[2]] = wrapper

    def adapt_parameter(self, owner: str, leaf: str, shape: Shape, module: Module) -> Adapted:
        """A `ParamWrapper` around the module that holds the parameter; those of one module nest."""
        name = f"{owner}.{leaf}"
        if not owner:
            raise RefusedError(Reason.PARAMETER_OF_ROOT, "ValueError", leaf)
        parent, node = placed(self.root, owner)
        if node.role in TUNERS and node.role is not Role.PARAMETER:
            raise RefusedError(Reason.PARAMETER_OF_ADAPTED, "ValueError", name)
        self._check_mamba(owner)
        rank, alpha = self.ranks.of(name), self.alphas.of(name)
        tensors = parameter_tensors(name, shape, rank, transposed=module.transposed)
        check_parameter_options(name, self.settings, fan_in_fan_out=self.fan_in_fan_out)
        check_parameter_init(name, module, rank, self.settings)
        self._wrap(parent, owner, node, Role.PARAMETER, tensors)
        scale = scale_of(alpha, rank, self.settings)
        return Adapted(name, None, tensors.in_out, rank, alpha, scale, tensors.shapes, experts=tensors.experts)


def target_parameters(tree: ModuleTree, entries: Suffixes) -> Iterator[tuple[Module, str, Shape, list[int]]]:
    """The parameters that entries match: by full name or dotted suffix, whatever is excluded."""
    names = tree.by_name
    for module in tree.modules:
        if f"{module.name}.parametrizations" in names:
            yield from _parametrized(tree, module, entries)
            continue
        for leaf, shape in module.parameters:
            hits = entries.hits(f"{module.name}.{leaf}")
            if hits:
                yield module, leaf, shape, hits


def _parametrized(
    tree: ModuleTree, module: Module, entries: Suffixes
) -> Iterator[tuple[Module, str, Shape, list[int]]]:
    """A parameter behind a parametrization matches by its full name only."""
    for key, place in sorted(entries.places.items()):
        owner, _, leaf = key.rpartition(".")
        inner = tree.by_name.get(f"{module.name}.parametrizations.{leaf}")
        if owner == module.name and inner is not None:
            yield module, leaf, inner.parameters[0][1], [place]
