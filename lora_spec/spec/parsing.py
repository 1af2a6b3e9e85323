"""Native values into a spec, and what pydantic and the constraints object to into diagnostics at their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from lora_spec.diagnostics import Diagnostic, DocumentPath, in_order
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
    places = places or Places()
    diagnostics = list(already)
    known = _without(dict(values), open_paths)
    faulty: set[DocumentPath] = set(suspects)
    draft = None
    for _ in range(_ROUNDS):
        errors = _errors(known)
        if isinstance(errors, LoraSpec):
            draft = errors
            break
        objections = _objections(errors, known, places)
        faulty |= {o.meant for o in objections if o.meant is not None}
        unseen = frozenset(faulty) | open_paths
        diagnostics += [o.diagnostic for o in objections if not _hidden(o, unseen)]
        cuts = frozenset(
            o.path[:-1] if o.path in faulty else o.path for o in objections
        )  # still at fault: take more away
        faulty |= cuts
        known = _without(known, cuts)
    unseen = frozenset(faulty) | open_paths
    if draft is not None:
        diagnostics += _broken_constraints(draft, places, unseen)
    sound = draft is not None and not unseen and not any(d.is_error for d in diagnostics)
    return Parsed(
        spec=draft if sound else None,
        diagnostics=tuple(sorted(diagnostics, key=in_order)),
        draft=draft,
        places=places,
        dialect=dialect,
        faulty=frozenset(faulty),
        open=open_paths,
    )


_ROUNDS = 8
"""Faults can hide faults below them; each round takes away what was found, and few are ever needed."""


def _objections(errors: list[ErrorDetails], known: Mapping[str, Any], places: Places) -> list[Objection]:
    from lora_spec.spec.objections import objection  # start-up time: a sound document needs none of the words

    return [objection(error, known, places) for error in errors]


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


def _without(values: dict[str, Any], paths: frozenset[DocumentPath]) -> dict[str, Any]:
    """``values`` less what stands at ``paths``; a list keeps its length, and the root its required key."""
    for path in paths:
        values = _cut(values, path)
    return values


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
