"""The one place where read, recognise, parse and the rules meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lora_spec.diagnostics import Diagnostic, Severity, SpecError, in_order
from lora_spec.dialects import parsing, verl
from lora_spec.rules.inspection import Finding, Inspection, Unchecked, continues_adapter
from lora_spec.rules.inspections import INSPECTIONS, NOT_CHECKED, SAID_BETTER
from lora_spec.rules.model_not_known import model_not_known
from lora_spec.source.document import Document
from lora_spec.source.reading import read_path, read_text, read_value
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.root import LoraSpec

if TYPE_CHECKING:
    from lora_spec.inventory.sources import Found
    from lora_spec.planning.values import Plan


class Examined(NamedTuple):
    """A document with all that is said of it; ``unchecked`` names what could not be judged, ``found`` is the structure
    of the base model where it was looked for.
    """

    parsed: Parsed
    diagnostics: tuple[Diagnostic, ...]
    unchecked: tuple[Unchecked, ...] = ()
    found: Found | None = None

    @property
    def spec(self) -> LoraSpec | None:
        """The spec, or None after an error."""
        return None if any(d.is_error for d in self.diagnostics) else self.parsed.spec


def judge(parsed: Parsed, found: Found | None = None) -> Examined:
    """What the rules say of ``parsed``, after what its reading said.

    ``found`` is the structure of the base model, as ``look_up`` gives it; None where it was not looked for.
    """
    if parsed.draft is None:
        return Examined(parsed, parsed.diagnostics)
    findings = list(_findings(parsed))
    sound = not any(isinstance(f, Diagnostic) and f.is_error for f in (*parsed.diagnostics, *findings))
    findings += _not_told_yet(_on_model(parsed, found, sound=sound), findings)
    unchecked = tuple(f for f in findings if isinstance(f, Unchecked))
    unread = {d.range for d in parsed.diagnostics if d.code.startswith("LS00") and d.range is not None}
    said = [f for f in findings if isinstance(f, Diagnostic) and f.range not in unread]  # one mistake, one message
    codes = {d.code for d in said}
    said = [d for d in said if SAID_BETTER.get(d.code) not in codes]
    if unchecked:
        said.append(_not_checked(unchecked, parsed))
    return Examined(parsed, tuple(sorted((*parsed.diagnostics, *said), key=in_order)), unchecked, found)


def _findings(parsed: Parsed) -> Iterator[Finding]:
    for inspection in INSPECTIONS:
        yield from _inspected(inspection, parsed)
    if parsed.dialect == verl.NAME:
        yield from verl.traps(parsed)
    for path in sorted(parsed.open, key=str):
        yield Unchecked(path, f"{parsed.places.name(path)}, which is left open")


def _on_model(parsed: Parsed, found: Found | None, *, sound: bool) -> Iterator[Finding]:
    if continues_adapter(parsed):
        from lora_spec.rules.adapter_fits import inspect_adapter_on_model  # start-up time: few documents have one

        return inspect_adapter_on_model(parsed, found)
    if found is None or found.tree is None:
        return model_not_known(parsed, found)
    from lora_spec.rules.on_model import inspect_on_model  # start-up time: without a tree there is nothing to match

    return inspect_on_model(parsed, found, found.tree, sound=sound)


def _not_told_yet(more: Iterable[Finding], told: Sequence[Finding]) -> Iterator[Finding]:
    """Findings on the model, less those on entries that are a fault already: one mistake, one message."""
    at_fault = {d.document_path for d in told if isinstance(d, Diagnostic) and d.is_error}
    for finding in more:
        path = finding.path if isinstance(finding, Unchecked) else finding.document_path
        if isinstance(finding, Unchecked) or not any(path[:n] in at_fault for n in range(2, len(path) + 1)):
            yield finding


def look_up(parsed: Parsed, model: Any = None, *, online: bool = False) -> Found | None:
    """The structure of the base model: of an ``nn.Module``, of a hub id or folder, by default the document's.

    None where nothing needs it: LoRA is off, or the base model is not known.
    """
    from lora_spec.inventory.sources import Found, find_tree  # start-up time: not every run looks

    if hasattr(model, "named_modules"):
        from lora_spec.inventory.live import tree_of

        return Found(tree_of(model), "live")
    draft = parsed.draft
    if draft is None or draft.lora is None or (model is None and not parsed.knows(("base_model",))):
        return None
    return find_tree(str(model or draft.base_model), draft.model_class, draft.revision, online=online)


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
        help="; ".join(dict.fromkeys(u.remedy for u in unchecked if u.remedy)),
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
    online: bool = False,
) -> tuple[Diagnostic, ...]:
    """Every fault of a target, and what is worth knowing of it.

    Args:
        target: A path, a ``Document``, a dict or OmegaConf object, a ``LoraSpec`` or a ``peft.LoraConfig``.
        model: What the targets are held against: an ``nn.Module``, a hub id or a folder. By default the document's base
            model, where its structure is known or can be built here.
        serve: The engine to serve on; its rules come in a later version, so anything but None is refused.
        online: Whether the hub may be asked for a base model's config.

    Raises:
        OSError: The target is a path that cannot be opened.
        NotImplementedError: ``serve`` is given.
    """
    if serve is not None:
        raise NotImplementedError("rules for serving come in a later version: serve must be None")
    parsed = _parsed(target)
    return judge(parsed, look_up(parsed, model, online=online)).diagnostics


def _parsed(target: Any) -> Parsed:
    if isinstance(target, LoraSpec):
        return Parsed(target, (), draft=target)
    from lora_spec.dialects.peft_config import is_peft_config, parse_peft_config  # start-up time: no file needs it

    return parse_peft_config(target) if is_peft_config(target) else parse(_document(target))


def plan(spec: LoraSpec, model: Any = None, *, online: bool = False) -> Plan:
    """What ``spec`` would train, on its base model or on ``model``: an ``nn.Module``, a hub id or a folder.

    Where the structure of the model cannot be had, the counts are None and ``diagnostics`` say why.
    """
    parsed = Parsed(spec, (), draft=spec)
    examined = judge(parsed, look_up(parsed, model, online=online))
    made = plan_judged(examined)
    assert made is not None
    return made


def plan_judged(examined: Examined, *, fits: bool = False, **flags: Any) -> Plan | None:
    """``plan`` after the rules have spoken, with the run's shape; None where the document came to no draft."""
    from lora_spec.inventory.sources import find_tree
    from lora_spec.planning.memory import run_of
    from lora_spec.planning.plan import make_plan

    draft = examined.parsed.draft
    if draft is None or examined.parsed.faulty or examined.parsed.open:
        return None
    found = examined.found or find_tree(draft.base_model, draft.model_class, draft.revision)
    return make_plan(draft, found, run_of(draft, **flags), fits=fits)._replace(diagnostics=examined.diagnostics)


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
    parsed = Parsed(spec, (), draft=spec)
    return compile_judged(judge(parsed, look_up(parsed)), spec)


def compile_judged(examined: Examined, spec: LoraSpec) -> Compiled:
    """``compile`` after the rules have spoken; its own faults are put into the user's file."""
    import json  # start-up time: checking needs none of these

    from lora_spec.planning.explicit import final_arguments
    from lora_spec.rules.compiling import refusals

    said = examined.diagnostics
    faults = [d for d in said if d.is_error] or list(refusals(spec, examined.parsed.places))
    if faults:
        raise SpecError(faults)
    data, _ = final_arguments(spec, examined.found.tree if examined.found else None)
    return Compiled(data, json.dumps(data, indent=2, ensure_ascii=False), said)
