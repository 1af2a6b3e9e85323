"""The one place where read, recognise, parse and the rules meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from lora_spec.diagnostics import Diagnostic, Severity, SpecError, in_order
from lora_spec.dialects import parsing, verl
from lora_spec.inventory.live import module_names
from lora_spec.rules.inspection import Finding, Inspection, Unchecked
from lora_spec.rules.inspections import INSPECTIONS, NOT_CHECKED
from lora_spec.rules.targets import inspect_targets
from lora_spec.source.document import Document
from lora_spec.source.reading import read_path, read_text, read_value
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import Places
from lora_spec.spec.root import LoraSpec


class Examined(NamedTuple):
    """A document with all that is said of it; ``unchecked`` names what could not be judged."""

    parsed: Parsed
    diagnostics: tuple[Diagnostic, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def spec(self) -> LoraSpec | None:
        """The spec, or None after an error."""
        return None if any(d.is_error for d in self.diagnostics) else self.parsed.spec


def judge(parsed: Parsed, *, modules: Sequence[str] | None = None) -> Examined:
    """What the rules say of ``parsed``, after what its reading said."""
    if parsed.draft is None:
        return Examined(parsed, parsed.diagnostics)
    findings = list(_findings(parsed, modules))
    unchecked = tuple(f for f in findings if isinstance(f, Unchecked))
    unread = {d.range for d in parsed.diagnostics if d.code.startswith("LS00") and d.range is not None}
    found = [f for f in findings if isinstance(f, Diagnostic) and f.range not in unread]  # one mistake, one message
    if unchecked:
        found.append(_not_checked(unchecked, parsed))
    return Examined(parsed, tuple(sorted((*parsed.diagnostics, *found), key=in_order)), unchecked)


def _findings(parsed: Parsed, modules: Sequence[str] | None) -> Iterator[Finding]:
    for inspection in INSPECTIONS:
        yield from _inspected(inspection, parsed)
    yield from inspect_targets(parsed, modules)
    if parsed.dialect == verl.NAME:
        yield from verl.traps(parsed)
    for path in sorted(parsed.open, key=str):
        yield Unchecked(path, f"{parsed.places.name(path)}, which is left open")


def _inspected(inspection: Inspection, parsed: Parsed) -> Iterator[Finding]:
    if all(parsed.knows(need) for need in inspection.needs):
        yield from inspection.inspect(parsed)


def _not_checked(unchecked: Sequence[Unchecked], parsed: Parsed) -> Diagnostic:
    whats = list(dict.fromkeys(u.what for u in unchecked))
    path = unchecked[0].path
    return Diagnostic(
        code=NOT_CHECKED.code,
        name=NOT_CHECKED.name,
        severity=Severity.INFO,
        message=f"not checked: {'; '.join(whats)}",
        document_path=parsed.places.path(path),
        range=parsed.places.value(path),
    )


def read(source: Any, *, dialect: str | None = None) -> Document:
    """A document from a path, a text, a dict or an OmegaConf object; ``dialect`` says whose it is.

    A ``str`` is a text where it has a line break or a colon with a space, else a path. Raises OSError for a path that
    cannot be opened and ValueError for a dialect that does not exist.
    """
    if dialect is not None:
        parsing.dialect_named(dialect)
    return replace(_document(source), dialect=dialect)


def _document(source: Any) -> Document:
    if isinstance(source, Document):
        return source
    if isinstance(source, (bytes, str)) and _is_text(source):
        return read_text(source)
    return read_path(source) if isinstance(source, (str, Path)) else read_value(source)


def _is_text(source: str | bytes) -> bool:
    return isinstance(source, bytes) or "\n" in source or ": " in source or source.lstrip().startswith("{")


def parse(document: Document) -> Parsed:
    """What ``document`` came to: a spec, or None after a fault, and every diagnostic of its reading and schema."""
    return parsing.parse(document, dialect=document.dialect)


def check(
    target: Any,
    model: Any = None,
    *,
    serve: str | None = None,
    online: bool = False,  # noqa: ARG001 - nothing that this version checks asks the hub
) -> tuple[Diagnostic, ...]:
    """Every fault of a target, and what is worth knowing of it.

    Args:
        target: A path, a ``Document``, a dict or OmegaConf object, a ``LoraSpec`` or a ``peft.LoraConfig``.
        model: An ``nn.Module`` whose module names the targets are held against. A hub id or a folder is not read in
            this version: what would need it is told as not checked.
        serve: The engine to serve on; its rules come in a later version, so anything but None is refused.
        online: Whether the hub may be asked; nothing that is checked in this version asks it.

    Raises:
        OSError: The target is a path that cannot be opened.
        NotImplementedError: ``serve`` is given.
    """
    if serve is not None:
        raise NotImplementedError("rules for serving come in a later version: serve must be None")
    modules = module_names(model) if hasattr(model, "named_modules") else None
    if isinstance(target, LoraSpec):
        return judge(Parsed(target, (), draft=target), modules=modules).diagnostics
    from lora_spec.dialects.peft_config import is_peft_config, parse_peft_config  # start-up time: no file needs it

    if is_peft_config(target):
        return judge(parse_peft_config(target), modules=modules).diagnostics
    return judge(parse(_document(target)), modules=modules).diagnostics


class Compiled(NamedTuple):
    """What a spec became: builtin values, and the same as text."""

    data: dict[str, Any]
    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def compile(  # noqa: A001 - the public name of the step, always used through the package
    spec: LoraSpec,
    to: str = "peft",
    *,
    allow_loss: bool = False,  # noqa: ARG001 - PEFT can say everything
) -> Compiled:
    """The keyword arguments of ``peft.LoraConfig`` for ``spec``, in builtin types and the document's order.

    Args:
        spec: What to compile.
        to: ``peft``; other formats come in a later version.
        allow_loss: Of no consequence for ``peft``, which can say everything.

    Raises:
        SpecError: The spec has a fault, LoRA is off, an adapter is continued, or the installed PEFT is too old.
        ValueError: ``to`` is not a format that can be written.
    """
    if to != "peft":
        raise ValueError(f"cannot write {to}: this version writes peft")
    found = judge(Parsed(spec, (), draft=spec)).diagnostics
    return compile_judged(spec, found)


def compile_judged(spec: LoraSpec, found: tuple[Diagnostic, ...], places: Places | None = None) -> Compiled:
    """``compile`` after the rules have spoken; ``places`` puts its own faults into the user's file."""
    import json  # start-up time: checking needs none of these

    from lora_spec.rules.compiling import refusals
    from lora_spec.spec.peft_arguments import peft_arguments

    faults = [d for d in found if d.is_error] or list(refusals(spec, places or Places()))
    if faults:
        raise SpecError(faults)
    data = peft_arguments(spec)
    return Compiled(data, json.dumps(data, indent=2, ensure_ascii=False), found)
