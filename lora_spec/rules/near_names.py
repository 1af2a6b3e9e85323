"""What a name was probably meant to be on this model."""

from __future__ import annotations

from lora_spec.diagnostics import closest
from lora_spec.rules.ground import Ground, in_suffix
from lora_spec.rules.leaf_names import LEAF_NAMES


def nearest_name(entry: str, names: tuple[str, ...]) -> str | None:
    """The name that a list entry was probably meant to be: a full path that moved, or a near last segment.

    A name that other models have is no misspelling.
    """
    head, _, leaf = entry.rpartition(".")
    if head:
        moved = [name for name in names if _same_path(entry, name)]
        if len(moved) == 1:
            return moved[0]
    leaves = sorted({name.rpartition(".")[2] for name in names})
    near = None if leaf in LEAF_NAMES else closest(leaf, [name for name in leaves if not name.isdigit()])
    meant = f"{head}.{near}" if head and near else near
    return meant if meant and meant != entry and any(in_suffix(name, meant) for name in names) else None


def names_with_weights(ground: Ground) -> tuple[str, ...]:
    """The modules that have parameters in them: an activation or a dropout is no name that was meant."""
    holding: set[str] = set()
    for module in ground.tree.modules:
        name = module.name if module.parameters else ""
        while name and name not in holding:
            holding.add(name)
            name = name.rpartition(".")[0]
    return tuple(name for name in ground.names if name in holding)


def _same_path(entry: str, name: str) -> bool:
    """Whether ``name`` is ``entry`` but for segments that a newer class put in between or at the front."""
    wanted = iter(name.split("."))
    return (
        all(segment in wanted for segment in entry.removeprefix("model.").split("."))
        and name.rsplit(".", maxsplit=1)[-1] == (entry.rsplit(".", maxsplit=1)[-1])
    )


def targets_are_unsure(ground: Ground) -> bool:
    """Whether some target is misspelt, which is told there: what is meant to be adapted is not known then."""
    return any(
        not (entry.names or entry.effect) and entry.entry.lower() != "all-linear"
        for field in ("target_modules", "target_parameters")
        for entry in ground.matched.of(field)
    )
