"""What to write so that some modules are no longer adapted, tried on the model before it is said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lora_spec.inventory.matching import Match, match
from lora_spec.planning.explicit import explicit_arguments
from lora_spec.rules.ground import Ground


def leaving_out(names: Iterable[str], ground: Ground) -> str | None:
    """A setting that leaves out just ``names``, modules or parameters: an exclusion, else the names of all others. None
    where neither does it.
    """
    unwanted, before = set(names), _reached(ground.arguments, ground)
    for field, value in _candidates(unwanted, ground):
        after = _reached({**ground.arguments, field: value}, ground)
        if after and not after & unwanted and (before is None or after == before - unwanted):
            form = {"regex": value} if isinstance(value, str) and ground.parsed.dialect == "lora-spec" else value
            return f"{field}: {ground.parsed.places.spelled(form)}"
    return None


def _candidates(unwanted: set[str], ground: Ground) -> Iterator[tuple[str, Any]]:
    leaves = sorted({name.removesuffix(".weight").rpartition(".")[2] for name in unwanted})
    excluded = ground.arguments.get("exclude_modules")
    if isinstance(excluded, str):
        yield "exclude_modules", "|".join([excluded, *(rf".*\.{re.escape(leaf)}" for leaf in leaves)])
    else:
        listed = excluded if isinstance(excluded, list) else []
        yield "exclude_modules", list(dict.fromkeys((*listed, *leaves)))
    yield "target_modules", list(dict.fromkeys(_others(unwanted, ground)))


def _others(unwanted: set[str], ground: Ground) -> Iterator[str]:
    """The last segments of all else that is adapted; those of fused experts as PEFT converts them."""
    for adapted in ground.matched.modules:
        if adapted.name not in unwanted:
            yield adapted.name.rpartition(".")[2]
    for adapted in ground.matched.parameters:
        if adapted.name not in unwanted:
            yield from (entry.rpartition(".")[2] for entry in adapted.converted_from)


def _reached(arguments: dict[str, object], ground: Ground) -> set[str] | None:
    """What is adapted in the end, names written out where the format has them so; None where PEFT refuses."""
    matched = match(ground.tree, arguments)
    if ground.parsed.dialect == "lora-spec":
        explicit = explicit_arguments(ground.tree, arguments, matched)
        matched = match(ground.tree, explicit) if explicit is not None else matched
    return None if matched.refusal is not None else _names(matched)


def _names(matched: Match) -> set[str]:
    return {adapted.name for adapted in (*matched.modules, *matched.parameters)}
