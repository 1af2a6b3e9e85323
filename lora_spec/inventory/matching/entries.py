"""What each entry of each list matched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lora_spec.inventory.matching.adapting import Values
from lora_spec.inventory.matching.record import Record
from lora_spec.inventory.matching.result import Entry
from lora_spec.inventory.matching.settings import Names, Pattern

Hits = Mapping[int, Iterable[str]]


def entries_of(record: Record) -> tuple[Entry, ...]:
    """Every entry that is written, in the lists' order."""
    return (
        *_target_modules(record),
        *_target_parameters(record),
        *_exclude_modules(record),
        *_modules_to_save(record),
        *_pattern("rank_pattern", record.written.rank_pattern, record.settings.rank_pattern, record.ranks),
        *_pattern("alpha_pattern", record.written.alpha_pattern, record.settings.alpha_pattern, record.alphas),
        *_layers(record),
        *_tokens(record),
    )


def _listed(field: str, written: Names, names: Hits, effect: Hits) -> Iterator[Entry]:
    if written is None:
        return
    single = isinstance(written, str)
    first: dict[str, int] = {}
    for place, entry in enumerate((written,) if isinstance(written, str) else written):
        same = first.setdefault(entry, place)  # an entry that is there twice matched what it matched
        yield Entry(field, None if single else place, entry, tuple(names.get(same, ())), tuple(effect.get(same, ())))


def _inverted(hits: Mapping[str, Iterable[int]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for name, places in hits.items():
        for place in places:
            found[place].append(name)
    return found


def _places(entries: Sequence[str]) -> dict[str, int]:
    return {entry: place for place, entry in reversed(list(enumerate(entries)))}


def _target_modules(record: Record) -> Iterator[Entry]:
    written = record.written.target_modules
    matched = record.matched
    if isinstance(written, str):
        brought = {adapted.name: [0] for adapted in record.modules}
        brought |= {adapted.name: [0] for adapted in record.parameters if adapted.converted_from}
    else:
        places = _places(written or ())
        brought = {adapted.name: matched.get(adapted.name, []) for adapted in record.modules}
        brought |= {p.name: [places[e] for e in p.converted_from if e in places] for p in record.parameters}
    yield from _listed("target_modules", written, _inverted(matched), _inverted(brought))


def _target_parameters(record: Record) -> Iterator[Entry]:
    found = _inverted(record.parameter_hits)
    yield from _listed("target_parameters", record.written.target_parameters, found, found)


def _exclude_modules(record: Record) -> Iterator[Entry]:
    selection = record.selection
    names, effect = _inverted(selection.excludes), _inverted(selection.excluded)
    yield from _listed("exclude_modules", record.written.exclude_modules, names, effect)


def _modules_to_save(record: Record) -> Iterator[Entry]:
    written = record.written.modules_to_save
    places = record.places
    current = record.settings.modules_to_save or ()
    names = _inverted({saved.name: [saved.entry] for saved in record.saved if saved.entry is not None})
    kept = {
        name: [places[current[i]] for i in hits if current[i] in places]
        for name, hits in record.selection.saved.items()
    }
    yield from _listed("modules_to_save", written, names, _inverted(kept))


def _pattern(field: str, written: Pattern, settled: Pattern, values: Values) -> Iterator[Entry]:
    places = {key: place for place, (key, _) in enumerate(settled)}
    names = _inverted(values.hits)
    effect = _inverted({name: hits[:1] for name, hits in values.hits.items()})
    for place, (key, _) in enumerate(written):
        settled_place = places.get(key, -1)
        yield Entry(field, place, key, tuple(names[settled_place]), tuple(effect[settled_place]))


def _layers(record: Record) -> Iterator[Entry]:
    wanted = record.written.layers_to_transform
    names = _inverted({name: [number] for name, number in record.selection.layers.items()})
    adapted = {module.name for module in record.modules}
    for place, number in enumerate((wanted,) if isinstance(wanted, int) else wanted or ()):
        found = tuple(names[number])
        effect = tuple(name for name in found if name in adapted)
        yield Entry("layers_to_transform", None if isinstance(wanted, int) else place, str(number), found, effect)


def _tokens(record: Record) -> Iterator[Entry]:
    written = record.written
    if written.trainable_token_indices is None:
        return
    field = "trainable_token_indices"
    if not written.tokens_by_name:
        names = tuple(tokens.name for tokens, _ in record.tokens)
        yield Entry(field, None, "", names, names)
        return
    for place, entry in enumerate(dict(written.trainable_token_indices)):  # type: ignore[arg-type]
        names = tuple(tokens.name for tokens, by in record.tokens if by == entry)
        yield Entry(field, place, str(entry), names, names)
