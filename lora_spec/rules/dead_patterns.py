"""Keys of rank_pattern and alpha_pattern that set nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule, Severity
from lora_spec.inventory.matching import Entry
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
            why = "it matches no adapted module"
            near = nearest_name(entry.entry, tuple(a.name for a in ground.matched.modules))
            owned = [p.name for p in ground.matched.parameters if in_suffix(p.name.rpartition(".")[0], entry.entry)]
            if owned:
                near, why = f"{entry.entry}.{owned[0].rpartition('.')[2]}", "its parameter is adapted, not the module"
            elif any(in_suffix(name, entry.entry) for name in ground.names):
                if targets_are_unsure(ground):
                    continue
                near, why = None, "the modules of that name are no targets"
            remedy = f"did you mean {near}?" if near else "remove it"
            places = ground.parsed.places
            fixes = places.renaming(path, near) if near else ()
            message = f"the key {entry.entry} in {field} has no effect: {why}"
            yield at_key(places, path, PATTERN_MATCHES_NOTHING, message, remedy, fixes)


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
