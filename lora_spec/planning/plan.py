"""From a spec and a module tree to the plan: what gets what, exact counts, bytes, memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lora_spec.inventory.adapter_folder import read_adapter_folder
from lora_spec.inventory.matching import Match, match
from lora_spec.inventory.sources import Found
from lora_spec.inventory.tree import ModuleTree, Shape
from lora_spec.planning.adapter_file import adapter_file_bytes
from lora_spec.planning.alternatives import Estimate, alternatives
from lora_spec.planning.breakdown import cells_of, entries_of, groups_of, in_the_words_of, left_out_of
from lora_spec.planning.explicit import explicit_arguments
from lora_spec.planning.memory import BYTES, Run, Trainable, activation_inputs, estimate
from lora_spec.planning.steps import planned_steps
from lora_spec.planning.values import Plan
from lora_spec.planning.versions import exact_here
from lora_spec.spec.peft_arguments import peft_arguments
from lora_spec.spec.root import LoraSpec


def make_plan(spec: LoraSpec, found: Found, run: Run, *, fits: bool = False) -> Plan:
    """The plan of ``spec`` on the tree that was found; without one, what the spec alone says.

    ``fits`` also asks what would take less memory.
    """
    arguments = arguments_of(spec)
    nothing = _without_counts(spec, found, arguments)
    tree = found.tree
    if tree is None or (spec.lora_on and arguments is None):
        return nothing
    if arguments is None:
        return _full_training(nothing, tree)
    matched = match(tree, arguments)
    explicit = explicit_arguments(tree, arguments, matched) if spec.lora and spec.lora.adapter_path is None else None
    if explicit is not None:
        nothing = nothing._replace(peft=explicit, notes=(*nothing.notes, WRITTEN_OUT))
        matched = in_the_words_of(matched, match(tree, explicit))
    if matched.refusal is not None:
        why = f"the adapter does not fit {tree.model_class}: {matched.refusal.reason.value}"
        notes = nothing.notes if spec.lora is None or spec.lora.adapter_path is None else (*nothing.notes, why)
        return nothing._replace(all_parameters=tree.parameter_count, entries=entries_of(matched), notes=notes)
    made = _adapted(nothing, spec, tree, matched, run)
    return made._replace(fits=tuple(alternatives(spec, run, _estimator(tree, matched)))) if fits else made


WRITTEN_OUT = (
    "names are written out in full: PEFT's conversion of experts would reach something else than the file says"
)


def arguments_of(spec: LoraSpec) -> dict[str, Any] | None:
    """PEFT's arguments of the adapter that will train: a new one's, or those that a continued one was saved with.

    None where LoRA is off or the adapter's config cannot be read here.
    """
    if spec.lora is None or not spec.lora_on:
        return None
    if spec.lora.adapter_path is None:
        return peft_arguments(spec)
    folder = read_adapter_folder(spec.lora.adapter_path)
    return dict(folder.config) if folder is not None and folder.config is not None else None


def _without_counts(spec: LoraSpec, found: Found, arguments: Mapping[str, Any] | None) -> Plan:
    tree = found.tree
    return Plan(
        base_model=spec.base_model,
        model_type=tree.model_type if tree else (found.config or {}).get("model_type"),
        model_class=tree.model_class if tree else None,
        model_source=found.source,
        exact=exact_here(),
        lora=spec.lora_on,
        trainable_parameters=None,
        all_parameters=None,
        adapted_modules=None,
        adapted_parameters=None,
        adapter_bytes=None,
        entries=(),
        groups=(),
        left_out=(),
        cells=(),
        peft=dict(arguments) if arguments is not None and spec.lora and spec.lora.adapter_path is None else None,
        steps=planned_steps(spec),
        memory=None,
        notes=(tree.note,) if tree and tree.note else (),
    )


def _full_training(plan: Plan, tree: ModuleTree) -> Plan:
    """LoRA is off: everything trains, in the base's own dtype."""
    count = tree.parameter_count
    return plan._replace(
        trainable_parameters=count, all_parameters=count, adapted_modules=0, adapted_parameters=0, adapter_bytes=0
    )


def _adapted(plan: Plan, spec: LoraSpec, tree: ModuleTree, matched: Match, run: Run) -> Plan:
    widths, estimator = _widths(spec), _estimator(tree, matched)
    return plan._replace(
        exact=plan.exact and matched.exact,
        trainable_parameters=matched.trainable_parameters,
        all_parameters=matched.all_parameters,
        adapted_modules=len(matched.modules),
        adapted_parameters=len(matched.parameters),
        adapter_bytes=adapter_file_bytes(tree, matched, widths, lora_bias=bool(spec.lora and spec.lora.lora_bias)),
        entries=entries_of(matched),
        groups=groups_of(matched),
        left_out=left_out_of(tree, matched),
        cells=cells_of(tree, matched),
        memory=estimator(spec, run),
        notes=(*plan.notes, *(f"not exact: {reason}" for reason in matched.inexact)),
    )


def _widths(spec: LoraSpec) -> tuple[int, int]:
    """Bytes of an element that trains, and of a frozen one."""
    frozen = BYTES.get(spec.prepare.dtype, 4)
    adapter = spec.prepare.adapter_dtype
    return frozen if adapter == "auto" else BYTES[adapter], frozen


def _estimator(tree: ModuleTree, matched: Match) -> Estimate:
    """Memory for one match as a function of the rest of the setup."""
    trainable, inputs = Trainable(_trainable_shapes(matched)), activation_inputs(matched)
    return lambda spec, run: estimate(spec, tree, trainable, run, inputs)


def _trainable_shapes(matched: Match) -> tuple[Shape, ...]:
    shapes = [shape for adapted in (*matched.modules, *matched.parameters) for shape in adapted.shapes]
    counts = [*(s.parameters for s in matched.saved), *(t.parameters for t in matched.tokens)]
    shapes += [(count,) for count in counts if count]
    if matched.biases.parameters:
        shapes.append((matched.biases.parameters,))
    return tuple(shapes)
