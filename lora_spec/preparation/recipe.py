"""The recipe: one flat function that shows the order of the steps."""

from __future__ import annotations

from typing import Any

from peft import PeftModel
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

from lora_spec.diagnostics import Diagnostic, SpecError
from lora_spec.inventory.live import tree_of
from lora_spec.inventory.sources import Found
from lora_spec.planning.memory import run_of
from lora_spec.planning.plan import make_plan
from lora_spec.planning.values import Plan
from lora_spec.preparation.adapter_folder import find_adapter
from lora_spec.preparation.build import build
from lora_spec.preparation.build_tiny import build_tiny
from lora_spec.preparation.cast import cast
from lora_spec.preparation.faults import fault
from lora_spec.preparation.hub import hub
from lora_spec.preparation.peft_config import peft_config
from lora_spec.preparation.peft_words import listening, without_false
from lora_spec.preparation.rehearsal import rehearse_loading, rehearse_new
from lora_spec.preparation.report import OnStep, StepLog
from lora_spec.preparation.values import Check, PreparedModel
from lora_spec.preparation.verify import verify
from lora_spec.preparation.wrap import (
    enable_input_require_grads,
    gradient_checkpointing,
    load_adapter,
    prepare_kbit,
    refuse_checkpointing,
    task_type,
    wrap_peft,
)
from lora_spec.rules.cannot_adapt import CANNOT_ADAPT
from lora_spec.rules.on_model import inspect_on_model
from lora_spec.rules.preparation import ALREADY_WRAPPED, STEP_UNAVAILABLE
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.root import LoraSpec


def prepare(model: nn.Module, spec: LoraSpec, *, on_step: OnStep | None = None) -> PreparedModel:
    """Make ``model`` ready to train as ``spec`` says: wrap it, cast it, and verify the result.

    The model is changed in place, as PEFT does it. With LoRA off it comes back untouched. Nothing is asked of the hub.

    Args:
        model: The base model, with its weights.
        spec: What to train.
        on_step: Called with the name of each step when it begins.

    Raises:
        SpecError: The spec asks for what cannot be done here. PEFT's refusals are found on an empty copy first, so
            that ``model`` is untouched; where only the weights could tell (an init by decomposition), the message
            says that the model is partly changed.
    """
    with hub(online=False):
        _refuse(model, spec)
        return _prepare(model, spec, StepLog(on_step), online=False)


def load(spec: LoraSpec, *, online: bool = False, tiny: bool = False, on_step: OnStep | None = None) -> PreparedModel:
    """Build the base model and make it ready to train: ``prepare`` with a ``build`` step before it.

    Args:
        spec: What to train.
        online: Whether the hub may be asked for what is not here.
        tiny: Rehearse with the same architecture at the smallest size with random weights; the fields ``changes`` says
            what was made smaller.
        on_step: Called with the name of each step when it begins.

    Raises:
        SpecError: The spec asks for what cannot be done here.
        CannotShrink: ``tiny``, and the architecture cannot be made smaller.
    """
    log = StepLog(on_step)
    changes: tuple[str, ...] = ()
    with hub(online=online):
        _refuse(None, spec)
        if tiny and spec.quantization is not None:
            spec = spec.model_copy(update={"quantization": None})
            changes = (*changes, "quantization left out: random weights are not quantised")
        with log.step("build") as note:  # on one device the weights come with it
            if tiny:
                model, smaller = build_tiny(spec, online=online)
                changes = (*changes, *smaller)
                note.did = f"{type(model).__name__}, tiny, random weights"
            else:
                model, note.did = build(spec, online=online)
        return _prepare(model, spec, log, online=online, changes=changes)


def _prepare(model: Any, spec: LoraSpec, log: StepLog, *, online: bool, changes: tuple[str, ...] = ()) -> PreparedModel:
    """The order of the steps, and the reason for each place."""
    lora, heard = spec.lora, list[Diagnostic]()
    if lora is None or not spec.lora_on:
        return _finish(model, None, log, (), changes)

    # Plan and check first: from here on a refusal would leave the model half changed.
    adapter = find_adapter(lora.adapter_path, online=online) if lora.adapter_path is not None else None
    refuse_checkpointing(model, spec.prepare.gradient_checkpointing)
    if spec.quantization is not None and not getattr(model, "is_quantized", False):
        words = f"the model is not quantised, and quantization asks for {spec.quantization.bits} bit"
        remedy = (
            "remove quantization, or quantise the model where it is loaded: the shipped model's random weights are not"
        )
        raise fault(STEP_UNAVAILABLE, words, remedy, at=("quantization",))
    plan = make_plan(spec, Found(tree_of(model), "live"), run_of(spec))
    if adapter is None:
        _refuse_dead_targets(model, spec)
        rehearse_new(model, spec)
    else:
        rehearse_loading(model, adapter)

    if spec.quantization is not None:
        with log.step("prepare_kbit") as note:  # before wrapping: it freezes every parameter that it finds
            note.did = prepare_kbit(model)

    with log.step("enable_input_require_grads") as note:  # on the base: afterwards a LoRA layer may hide the embedding
        note.did = enable_input_require_grads(model)

    if spec.prepare.gradient_checkpointing is not None:
        with log.step("gradient_checkpointing") as note:  # needs an input with a gradient, or the adapters get none
            note.did = gradient_checkpointing(model, spec.prepare.gradient_checkpointing)

    if adapter is None:
        with log.step("wrap_peft") as note, listening() as heard:
            model = wrap_peft(
                model, peft_config(spec, tree_of(model)), adapter_name=lora.adapter_name, seed=spec.prepare.seed
            )
            note.did = _targets(model)
    else:
        with log.step("load_adapter") as note, listening() as heard:
            model = load_adapter(model, adapter, lora)
            note.did = f"{_targets(model)} from {adapter}"

    with log.step("task_type") as note:  # after loading: adapter_config.json holds text
        note.did = task_type(model)

    with log.step(
        "cast"
    ) as note:  # after wrapping: only now is it known what trains; before sharding: one dtype a unit
        note.did = cast(model, spec)

    # shard: goes here, after the cast and before the weights; spec.prepare.fsdp is refused until it does
    # load_weights: goes here, into the shards; on one device `build` has brought them

    return _finish(model, spec, log, without_false(heard, model.targeted_parameter_names), changes, plan)


def _finish(
    model: Any,
    spec: LoraSpec | None,
    log: StepLog,
    heard: tuple[Diagnostic, ...],
    changes: tuple[str, ...],
    plan: Plan | None = None,
) -> PreparedModel:
    with log.step("verify") as note:  # last: it proves what is there now
        checks = verify(model, spec)
        if plan is not None:
            checks = (*checks, as_planned(plan, model, quantized=spec is not None and spec.quantization is not None))
        note.did = f"{sum(check.passed is True for check in checks)} of {len(checks)} checks passed"
    trainable, total = count_parameters(model)
    return PreparedModel(model, tuple(log.steps), checks, trainable, total, heard, plan, changes=changes)


def as_planned(plan: Plan, model: Any, *, quantized: bool = False) -> Check:
    """What trains is as much as the plan said before anything was wrapped."""
    name, planned = "as-planned", (plan.trainable_parameters, plan.all_parameters)
    trainable, total = count_parameters(model)
    if None in planned or not plan.exact or quantized:
        why = "quantised weights are packed" if quantized else "; ".join(plan.notes) or "the plan is not exact"
        return Check(name, None, f"not compared: {why}")
    if planned == (trainable, total):
        return Check(name, passed=True, detail=f"{trainable:,d} of {total:,d} parameters train, as planned")
    detail = f"{trainable:,d} of {total:,d} parameters train; planned were {planned[0]:,d} of {planned[1]:,d}"
    return Check(name, passed=False, detail=detail)


def count_parameters(model: Any) -> tuple[int, int]:
    """The parameters that train and all parameters, as ``PeftModel.get_nb_trainable_parameters`` counts them."""
    if isinstance(model, PeftModel):
        trainable, total = model.get_nb_trainable_parameters()
        return trainable, total
    return sum(p.numel() for p in model.parameters() if p.requires_grad), sum(p.numel() for p in model.parameters())


def _refuse_dead_targets(model: nn.Module, spec: LoraSpec) -> None:
    """Raise where a target names nothing in ``model``: PEFT says so only when nothing at all matches."""
    tree = tree_of(model)
    said = inspect_on_model(Parsed(spec, (), draft=spec), Found(tree, "live"), tree)
    faults = [f for f in said if isinstance(f, Diagnostic) and f.is_error and f.code != CANNOT_ADAPT.code]
    if faults:
        raise SpecError(faults)


def _refuse(model: nn.Module | None, spec: LoraSpec) -> None:
    if spec.prepare.fsdp is not None:
        words = f"sharding ({spec.prepare.fsdp.strategy}) is not available in this version"
        raise fault(STEP_UNAVAILABLE, words, "leave prepare.fsdp out: one device", at=("prepare", "fsdp"))
    if model is not None and any(isinstance(module, BaseTunerLayer) for module in model.modules()):
        words = "the model is wrapped by PEFT already"
        raise fault(ALREADY_WRAPPED, words, "pass the base model: model.unload() gives it back")


def _targets(model: Any) -> str:
    modules, parameters = len(model.targeted_module_names), len(model.targeted_parameter_names)
    counted = [f"{modules} modules"] * bool(modules) + [f"{parameters} parameters"] * bool(parameters)
    return " and ".join(counted) + " adapted"
