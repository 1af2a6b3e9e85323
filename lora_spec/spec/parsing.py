"""Native values into a spec, and what pydantic and the constraints object to into diagnostics at their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from lora_spec.diagnostics import Diagnostic, DocumentPath, in_order
from lora_spec.source.scalars import leaves_open
from lora_spec.spec.combinations import violations
from lora_spec.spec.places import Places, at_value
from lora_spec.spec.root import LoraSpec

if TYPE_CHECKING:
    from lora_spec.spec.objections import Objection

PLACEHOLDER = "<faulty>"
"""Stands for a text that could not be read; rules do not look at what stands at a faulty place."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a document came to.

    ``spec`` is None after a fault or where a value is left open; ``draft`` is then the spec without what could not be
    read, for the rules that do not need it. ``faulty`` and ``open`` hold the native paths that the draft lacks.
    """

    spec: LoraSpec | None
    diagnostics: tuple[Diagnostic, ...]
    draft: LoraSpec | None = None
    places: Places = field(default_factory=Places)
    dialect: str = "lora-spec"
    faulty: frozenset[DocumentPath] = frozenset()
    open: frozenset[DocumentPath] = frozenset()

    def knows(self, path: DocumentPath) -> bool:
        """Whether the draft holds what the user wrote at ``path`` and below."""
        return not _touches(path, self.faulty | self.open)

    def is_open(self, path: DocumentPath) -> bool:
        """Whether something at ``path`` or below is left open, such as `${RANK}`."""
        return _touches(path, self.open)


def parse_values(
    values: Mapping[str, Any],
    places: Places | None = None,
    *,
    open_paths: frozenset[DocumentPath] = frozenset(),
    dialect: str = "lora-spec",
    already: tuple[Diagnostic, ...] = (),
    suspects: frozenset[DocumentPath] = frozenset(),
) -> Parsed:
    """Native values into a spec, with every fault of the schema and of the constraints, each once.

    ``open_paths`` are native paths whose values are not known yet; ``already`` is what the reader and the
    dialect have said, and ``suspects`` native paths that it was about.
    """
    state = _Reading(dict(values), places or Places(), set(suspects), set(open_paths), list(already))
    state.cut_open()
    draft = None
    for _ in range(_ROUNDS):
        errors = _errors(state.known)
        if isinstance(errors, LoraSpec):
            draft = errors
            break
        state.object_to(errors)
    unseen = frozenset(state.faulty | state.open)
    if draft is not None:
        state.diagnostics += _broken_constraints(draft, state.places, unseen)
    sound = draft is not None and not unseen and not any(d.is_error for d in state.diagnostics)
    return Parsed(
        spec=draft if sound else None,
        diagnostics=tuple(sorted(state.diagnostics, key=in_order)),
        draft=draft,
        places=state.places,
        dialect=dialect,
        faulty=frozenset(state.faulty),
        open=frozenset(state.open),
    )


def left_open(parsed: Parsed) -> Iterator[Diagnostic]:
    """What stands in the way of a spec where values are left open, such as `${RANK}`."""
    from lora_spec.spec.faults import VALUE_LEFT_OPEN

    for path in sorted(parsed.open, key=str):
        message = f"{parsed.places.name(path)} is left open and is needed here"
        remedy = "fill it in first: the tool that resolves it, or its value in a copy of the file"
        yield at_value(parsed.places, path, VALUE_LEFT_OPEN, message, remedy)


_ROUNDS = 8
"""Faults can hide faults below them; each round takes away what was found, and few are ever needed."""


class _Reading:
    """The values less what cannot be read, with keys that were meant to be others in the place of those."""

    def __init__(
        self,
        known: dict[str, Any],
        places: Places,
        faulty: set[DocumentPath],
        left_open: set[DocumentPath],
        diagnostics: list[Diagnostic],
    ) -> None:
        self.known = known
        self.places = places
        self.faulty = faulty
        self.open = left_open
        self.diagnostics = diagnostics

    def cut_open(self) -> None:
        """Take what is left open out, but for keys that nothing knows: those are told."""
        for path in sorted(self.open, key=str):
            if self._is_unknown(path):
                self.open.remove(path)
            else:
                self.known = _cut(self.known, path)

    def _is_unknown(self, path: DocumentPath) -> bool:
        from lora_spec.spec.unknown_keys import keys_at  # start-up time: few documents leave anything open

        known = keys_at(path[:-1], self.known) if isinstance(_at(self.known, path[:-1]), Mapping) else ()
        return bool(known) and path[-1] not in known

    def object_to(self, errors: list[ErrorDetails]) -> None:
        """Say each of ``errors`` once, and take away what it is about."""
        from lora_spec.spec.objections import objection  # start-up time: a sound document needs none of the words

        unseen = frozenset(self.faulty | self.open)
        found: list[Objection] = []
        for error in sorted(errors, key=_unknown_first):
            made = objection(error, self.known, self.places)
            again = made.diagnostic in (o.diagnostic for o in found)
            if not again and not (made.is_missing and _stands(self.known, made.path)):
                found.append(made)
                self._move(made)
        self.diagnostics += [o.diagnostic for o in found if not _hidden(o, unseen) and not _implied(o, found)]
        cuts = [o.path[:-1] or o.path if o.path in self.faulty else o.path for o in found]  # still at fault: more
        self.faulty.update(cuts)
        for cut in cuts:
            self.known = _cut(self.known, cut)

    def _move(self, made: Objection) -> None:
        """Put the value of a misspelt key where it was meant to be, so that it is judged as well."""
        if made.meant is None:
            return
        path, meant = made.path, made.meant.path
        value = _at(self.known, path)
        if made.meant.sure and meant == path[:-1] and isinstance(value, Mapping):  # lora.lora.rank
            pairs = [((*path, key), (*meant, key)) for key in value]
        else:
            pairs = [(path, meant)]
        for source, target in pairs:
            self._move_one(source, target, sure=made.meant.sure)

    def _move_one(self, source: DocumentPath, target: DocumentPath, *, sure: bool) -> None:
        if _stands(self.known, target) or not _can_hold(self.known, target):
            return
        value = _at(self.known, source)
        moved = {**self.places.moved, target: self.places.path(source)}
        self.places = Places(self.places.document, moved, self.places.core)
        if not sure:
            self.faulty.add(target)
        elif isinstance(value, str) and leaves_open(value):
            self.open.add(target)
        else:
            self.known = _put(self.known, target, value)


def _unknown_first(error: ErrorDetails) -> bool:
    return error["type"] != "extra_forbidden"


def _implied(found: Objection, others: list[Objection]) -> bool:
    """Whether another one says the same: what holds it is at fault, or of a missing key and the unknown ones beside
    it one is enough.
    """
    if any(o.path != found.path and found.path[: len(o.path)] == o.path for o in others):
        return True
    beside = [o for o in others if o is not found and o.path[:-1] == found.path[:-1]]
    if found.is_unknown:
        return any(o.is_missing and o.path[-1] == "regex" for o in beside)
    unknown = [o for o in beside if o.is_unknown and o.meant is None]
    return found.is_missing and len(found.path) > 1 and found.path[-1] != "regex" and len(unknown) == 1


def _at(values: Any, path: DocumentPath) -> Any:
    for part in path:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def _stands(values: Any, path: DocumentPath) -> bool:
    return _at(values, path) is not None


def _can_hold(values: Any, path: DocumentPath) -> bool:
    """Whether every section above ``path`` is a mapping or absent."""
    return all(isinstance(_at(values, path[:n]), (Mapping, type(None))) for n in range(1, len(path)))


def _put(values: Mapping[str, Any], path: DocumentPath, value: Any) -> dict[str, Any]:
    head, *rest = path
    inner = _put(values.get(str(head)) or {}, tuple(rest), value) if rest else value
    return {**values, str(head): inner}


def _errors(values: dict[str, Any]) -> LoraSpec | list[ErrorDetails]:
    spec = LoraSpec.__new__(LoraSpec)
    try:
        LoraSpec.__pydantic_validator__.validate_python(values, self_instance=spec)
    except ValidationError as error:
        return error.errors(include_url=False)
    return spec


def _broken_constraints(draft: LoraSpec, places: Places, unseen: frozenset[DocumentPath]) -> Iterator[Diagnostic]:
    for violation in violations(draft):
        if any(_touches(ground, unseen) for ground in violation.grounds):
            continue
        yield at_value(places, violation.path, violation.rule, violation.message, violation.help)


def _touches(path: DocumentPath, others: frozenset[DocumentPath]) -> bool:
    """Whether one of ``others`` is ``path``, above it or below it."""
    return any(path[: len(o)] == o or o[: len(path)] == path for o in others)


def _hidden(found: Objection, unseen: frozenset[DocumentPath]) -> bool:
    return any(found.path[: len(path)] == path for path in unseen)


def _cut(container: Any, path: DocumentPath) -> Any:
    head, *rest = path
    if isinstance(container, Mapping):
        if rest and head in container:
            return {**container, head: _cut(container[head], tuple(rest))}
        remaining = {key: value for key, value in container.items() if key != head}
        return {**remaining, head: PLACEHOLDER} if head == "base_model" else remaining
    if isinstance(container, (list, tuple)) and isinstance(head, int) and head < len(container):
        items = list(container)
        items[head] = _cut(items[head], tuple(rest)) if rest else PLACEHOLDER
        return items
    return PLACEHOLDER
