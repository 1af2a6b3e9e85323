"""Keys of rank_pattern and alpha_pattern that set nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.matching import Entry
from lora_spec.rules.expert_parameters import parameter_meant
from lora_spec.rules.ground import Ground, in_suffix
from lora_spec.rules.near_names import nearest_name, targets_are_unsure
from lora_spec.spec.places import at_key

PATTERN_MATCHES_NOTHING = Rule(
    "LS204",
    "pattern-matches-nothing",
    Severity.ERROR,
    "A key of rank_pattern or alpha_pattern is a regex that must match the end of an adapted module's name. One that "
    "matches none, or only what an earlier key has taken, leaves the default.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], rank_pattern: {qproj: 8}}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], rank_pattern: {q_proj: 8}}",
)
RULES = (PATTERN_MATCHES_NOTHING,)


def inspect_patterns(ground: Ground) -> Iterator[Diagnostic]:
    """Keys of rank_pattern and alpha_pattern without effect."""
    if ground.matched.refusal is not None:
        return
    for field in ("rank_pattern", "alpha_pattern"):
        for entry, path in ground.entries(field):
            if entry.effect:
                continue
            if entry.names:
                yield _shadowed(entry, path, field, ground)
                continue
            if found := _why(entry.entry, ground):
                why, near = found
                is_new = near is not None and near not in (getattr(ground.lora, field) or {})
                remedy = (
                    f"did you mean {near}?" if is_new else f"remove it: {near} is there too" if near else "remove it"
                )
                places = ground.parsed.places
                fixes = places.renaming(path, near) if near and is_new else ()
                message = f"the key {entry.entry} in {field} has no effect: {why}"
                yield at_key(places, path, PATTERN_MATCHES_NOTHING, message, remedy, fixes)


def _why(key: str, ground: Ground) -> tuple[str, str | None] | None:
    """Why a key matches no adapted module, and what was probably meant; None where a misspelt target may be why."""
    plain = re.sub(r"^(?:\^|\(?\.\*\\?\.?(?:\)\?)?)+|\$$|\.weight\$?$", "", key)
    modules, parameters = ([a.name for a in adapted] for adapted in (ground.matched.modules, ground.matched.parameters))
    owned = [name for name in parameters if in_suffix(name.rpartition(".")[0], plain)]
    if owned:
        return "its parameter is adapted, not the module", f"{plain}.{owned[0].rpartition('.')[2]}"
    meant = parameter_meant(plain, ground)
    if meant and any(in_suffix(name, meant) for name in parameters):
        return "it matches no adapted parameter", meant
    if plain != key and any(in_suffix(name, plain) for name in modules):
        return "it matches no adapted module", plain
    if any(in_suffix(name, plain) for name in ground.names):
        return None if targets_are_unsure(ground) else ("the modules of that name are no targets", None)
    return "it matches no adapted module", nearest_name(plain, tuple(modules))


def _shadowed(entry: Entry, path: DocumentPath, field: str, ground: Ground) -> Diagnostic:
    """A key whose modules earlier keys have taken; moved before one that matches no more, it would only kill that."""
    earlier = itertools.takewhile(lambda other: other.entry != entry.entry, ground.matched.of(field))
    takers = [other for other in earlier if set(other.effect) & set(entry.names)]
    keys = ", ".join(taker.entry for taker in takers)
    message = f"the key {entry.entry} in {field} has no effect: {keys}, which comes first, takes all that it matches"
    wider = all(set(taker.names) - set(entry.names) for taker in takers)
    if wider:
        remedy = f"put it before {takers[0].entry}"
    elif len(takers) == 1:
        remedy = f"remove one of the two, {takers[0].entry} or {entry.entry}"
    else:
        message = f"the key {entry.entry} in {field} has no effect: {keys}, which come first, take all that it matches"
        remedy = f"remove it, or remove {keys}"
    return at_key(ground.parsed.places, path, PATTERN_MATCHES_NOTHING, message, remedy)
