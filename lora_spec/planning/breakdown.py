"""A match by entry, by kind of module, by place, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from lora_spec.inventory.layout import layer_of, layer_ranges, tower_of
from lora_spec.inventory.matching import Adapted, Match
from lora_spec.inventory.tree import Kind, ModuleTree
from lora_spec.planning.values import Cell, Group, LeftOut, PlanEntry

_COUNTED = ("target_modules", "target_parameters")


def entries_of(matched: Match) -> tuple[PlanEntry, ...]:
    """What each entry of each list came to."""
    trains = {adapted.name: adapted.parameters for adapted in (*matched.modules, *matched.parameters)}
    trains |= {saved.name: saved.parameters for saved in matched.saved}
    trains |= {tokens.name: tokens.parameters for tokens in matched.tokens}
    entries = []
    for entry in matched.entries:
        names = entry.names if entry.field in ("modules_to_save", "trainable_token_indices") else entry.effect
        counted = entry.field in (*_COUNTED, "modules_to_save", "trainable_token_indices")
        parameters = sum(trains.get(name, 0) for name in names) if counted else 0
        entries.append(PlanEntry(entry.field, entry.entry, len(names), layer_ranges(names), _towers(names), parameters))
    return tuple(entries)


def in_the_words_of(written: Match, explicit: Match) -> Match:
    """``explicit``, told by the entries that the file has: what each of them names and what is adapted of it."""
    adapted = {one.name for one in (*explicit.modules, *explicit.parameters)}
    entries = []
    for entry in written.entries:
        if entry.field in _COUNTED:
            weights = (f"{name}.weight" for name in entry.names)
            named = dict.fromkeys((*entry.names, *entry.effect, *weights))
            entry = entry._replace(effect=tuple(name for name in named if name in adapted))  # noqa: PLW2901
        elif entry.field == "exclude_modules":
            kept_out = (name for name in entry.names if not adapted & {name, f"{name}.weight"})
            entry = entry._replace(effect=entry.effect or tuple(kept_out))  # noqa: PLW2901
        entries.append(entry)
    return explicit._replace(entries=tuple(entries))


def _towers(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tower_of(name) for name in names))


def groups_of(matched: Match) -> tuple[Group, ...]:
    """Adapted modules and parameters of one name, shape, rank and scale."""
    members: dict[tuple[str, tuple[int, int], int, float, float, str], list[Adapted]] = {}
    for adapted in (*matched.modules, *matched.parameters):
        key = (
            kind_name(adapted.name),
            adapted.in_out,
            adapted.rank,
            adapted.alpha,
            adapted.scale,
            tower_of(adapted.name),
        )
        members.setdefault(key, []).append(adapted)
    return tuple(
        Group(
            name=name,
            shape=shape,
            rank=rank,
            alpha=alpha,
            scale=scale,
            modules=len(group),
            layers=layer_ranges(adapted.name for adapted in group),
            tower=tower,
            trainable_parameters=sum(adapted.parameters for adapted in group),
        )
        for (name, shape, rank, alpha, scale, tower), group in members.items()
    )


def kind_name(name: str) -> str:
    """What modules of one kind are called: the last segment, with its owner where the last is a number or too general."""
    *owners, leaf = [segment for segment in name.split(".") if not segment.isdigit()]
    return f"{owners[-1]}.{leaf}" if owners and leaf in _GENERAL else leaf


_GENERAL = {"linear", "proj", "dense", "weight", "gate_up_proj_experts", "0", "1", "2"}


def adaptable(tree: ModuleTree) -> Iterator[tuple[str, int]]:
    """What a person may want to adapt: linear layers and fused expert parameters, with their size."""
    for module in tree.modules:
        if module.kind in (Kind.LINEAR, Kind.CONV1D):
            yield module.name, sum(prod(shape) for _, shape in module.parameters)
        for name, shape in module.parameters:
            if len(shape) == 3 and module.kind is Kind.OTHER:
                yield f"{module.name}.{name}", prod(shape)


def left_out_of(tree: ModuleTree, matched: Match) -> tuple[LeftOut, ...]:
    """Kinds of linear layers and experts without an adapter."""
    taken = {adapted.name for adapted in (*matched.modules, *matched.parameters)}
    groups: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for name, size in adaptable(tree):
        if name not in taken:
            key = (kind_name(name), tower_of(name), _reason(name, tree, matched))
            groups.setdefault(key, []).append((name, size))
    return tuple(
        LeftOut(kind, len(group), layer_ranges(n for n, _ in group), tower, sum(s for _, s in group), reason)
        for (kind, tower, reason), group in groups.items()
    )


def _reason(name: str, tree: ModuleTree, matched: Match) -> str:
    if any(name == saved.name or name.startswith(f"{saved.name}.") for saved in matched.saved):
        return "trained in full"
    if name in matched.excluded:
        return "excluded"
    return "output head" if name == tree.output_embeddings else ""


def cells_of(tree: ModuleTree, matched: Match) -> tuple[Cell, ...]:
    """The map of layers and module kinds."""
    ranks = {adapted.name: adapted.rank for adapted in (*matched.modules, *matched.parameters)}
    places: dict[tuple[int | None, str, str], list[str]] = {}
    for name, _ in adaptable(tree):
        places.setdefault((layer_of(name), kind_name(name), tower_of(name)), []).append(name)
    for name in ranks:
        names = places.setdefault((layer_of(name), kind_name(name), tower_of(name)), [])
        if name not in names:
            names.append(name)
    return tuple(
        Cell(
            layer, kind, tower, len(names), sum(n in ranks for n in names), max(ranks.get(n, 0) for n in names) or None
        )
        for (layer, kind, tower), names in places.items()
    )
