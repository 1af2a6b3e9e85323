"""The order in which PEFT does it: `get_peft_model` and `BaseTuner.inject_adapter` (PEFT 0.21.2)."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lora_spec.inventory.matching.adapting import Adapter, target_parameters
from lora_spec.inventory.matching.biases import train_biases
from lora_spec.inventory.matching.entries import entries_of
from lora_spec.inventory.matching.experts import convert_experts, origins_of
from lora_spec.inventory.matching.graph import Node, graph_of
from lora_spec.inventory.matching.names import Suffixes
from lora_spec.inventory.matching.record import Record
from lora_spec.inventory.matching.replication import replicate
from lora_spec.inventory.matching.result import Effective, Match, Reason, RefusedError
from lora_spec.inventory.matching.saved import save_modules, save_once_more
from lora_spec.inventory.matching.selection import DUMMY, expanded, select, shortened, with_defaults
from lora_spec.inventory.matching.settings import Settings, check_settings, settings_of
from lora_spec.inventory.matching.tables import heads_of
from lora_spec.inventory.matching.ties import tie
from lora_spec.inventory.matching.tokens import train_tokens
from lora_spec.inventory.tree import ModuleTree


def match(tree: ModuleTree, arguments: Mapping[str, Any]) -> Match:
    """What `get_peft_model` of PEFT 0.21.2 would do to the model with ``arguments`` for `LoraConfig`."""
    written = settings_of(arguments)
    record = Record(tree, written)
    refusal = None
    trainable = total = 0
    try:
        check_settings(written)
        with _no_collection():
            trainable, total = _counts(_apply(record))
    except RefusedError as refused:
        refusal = refused.refusal
    return Match(
        modules=tuple(record.modules),
        parameters=tuple(record.parameters),
        saved=tuple(record.saved),
        tokens=tuple(tokens for tokens, _ in record.tokens),
        biases=record.biases,
        trainable_parameters=trainable,
        all_parameters=total,
        refusal=refusal,
        effective=_effective(record.settings),
        entries=entries_of(record),
        inexact=record.inexact(),
    )


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps Python from looking for cycles among tens of thousands of nodes, which have none: a third of the time."""
    wanted = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.enable()


def _apply(record: Record) -> Node:
    """All steps, each on what the one before left."""
    settings = _prepare(record)
    root = graph_of(record.tree)
    is_target = record.is_target()
    settings = record.settings = shortened(record.tree, settings, is_target)
    record.selection = select(record.tree, settings, is_target)
    adapter = Adapter(record.tree, root, settings)
    record.ranks, record.alphas = adapter.ranks, adapter.alphas
    for name in record.selection.targets:
        record.modules.append(adapter.adapt_module(name, record.entry(name)))
    _adapt_parameters(record, adapter)
    for name in record.selection.tied:
        record.modules.append(adapter.adapt_module(name, record.entry(name), tied=True))
    _check_any(record, settings)
    record.biases = train_biases(root, settings)
    record.saved += save_modules(record.tree, root, settings, record.places)
    if settings.trainable_token_indices is not None:
        record.tokens = train_tokens(record.tree, root, settings)
    record.saved += save_once_more(record.tree, root, settings, record.places)
    return root


def _prepare(record: Record) -> Settings:
    """The conversions of the settings, in PEFT's order; the tree with its layers replicated."""
    settings = record.written
    if settings.task_type == "SEQ_CLS":
        settings = settings._replace(modules_to_save=(*(settings.modules_to_save or ()), *heads_of("SEQ_CLS")))
    conversion = convert_experts(record.tree, settings)
    record.origins = conversion.origins
    record.settings = with_defaults(record.tree, tie(record.tree, conversion.settings))
    record.tree = replicate(record.tree, settings.layer_replication)
    record.settings = expanded(record.tree, record.settings)
    return record.settings


def _adapt_parameters(record: Record, adapter: Adapter) -> None:
    targets = record.settings.target_parameters
    if not targets:
        return
    written = record.written.target_parameters or ()
    for module, leaf, shape, hits in target_parameters(record.tree, Suffixes(targets)):
        adapted = adapter.adapt_parameter(module.name, leaf, shape, module)
        record.parameter_hits[adapted.name] = [place for place in hits if place < len(written)]
        place = hits[0] if hits[0] < len(written) else None
        origins = origins_of(adapted.name, record.origins, written)
        record.parameters.append(adapted._replace(entry=place, converted_from=origins))


def _check_any(record: Record, settings: Settings) -> None:
    for values in (record.ranks, record.alphas):
        values.check(any_module=bool(record.modules))
    if record.modules or record.parameters or settings.target_modules == DUMMY:
        return
    kept = record.selection.excluded or record.selection.saved
    targets = settings.target_modules
    names = (targets,) if isinstance(targets, str) else targets or ()
    reason = Reason.ALL_EXCLUDED if kept else Reason.NOTHING_MATCHED
    raise RefusedError(reason, "NoMatchingPeftModuleError", *names)


def _counts(root: Node) -> tuple[int, int]:
    sizes = [(tensor.size, tensor.trainable) for tensor in root.parameters()]
    return sum(size for size, trainable in sizes if trainable), sum(size for size, _ in sizes)


def _effective(settings: Settings) -> Effective:
    targets = settings.shortened or settings.target_modules
    return Effective(
        target_modules=tuple(dict.fromkeys(targets)) if isinstance(targets, tuple) else targets,
        target_parameters=settings.target_parameters or (),
        rank_pattern=settings.rank_pattern,
        alpha_pattern=settings.alpha_pattern,
        modules_to_save=settings.modules_to_save or (),
    )
