"""What a rule is to the pipeline: its records, what it needs to know, and the function that looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from lora_spec.diagnostics import Diagnostic, DocumentPath, Rule
from lora_spec.spec.lora import Lora
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.root import LoraSpec


class Unchecked(NamedTuple):
    """Something that could not be judged, and why; ``path`` is the native path that it is about.

    ``remedy`` says what would help, where something would.
    """

    path: DocumentPath
    what: str
    remedy: str = ""


Finding: TypeAlias = Diagnostic | Unchecked


class Inspection(NamedTuple):
    """A rule, or a few that one look decides.

    It is skipped where something it ``needs`` (native paths) is faulty, and counted as unchecked where that is left
    open.
    """

    rules: tuple[Rule, ...]
    needs: tuple[DocumentPath, ...]
    inspect: Callable[[Parsed], Iterator[Finding]]


def drafted(parsed: Parsed) -> LoraSpec:
    """The draft that a rule runs on; rules run only where there is one."""
    assert parsed.draft is not None
    return parsed.draft


def new_adapter(parsed: Parsed) -> Lora | None:
    """The `lora` section where it describes a new adapter that is on, else None."""
    lora = drafted(parsed).lora
    off = lora is None or lora.adapter_path is not None or (lora.rank == 0 and parsed.knows(("lora", "rank")))
    return None if off else lora


def continues_adapter(parsed: Parsed) -> bool:
    """Whether the draft names an adapter to continue."""
    lora = drafted(parsed).lora
    return lora is not None and lora.adapter_path is not None
