"""What PEFT does to a model, in the terms of a `Match`; for the differential tests."""

import copy
import re
import warnings
from typing import Any, NamedTuple

import torch
from peft import LoraConfig, get_peft_model
from peft.tuners.lora import LoraLayer
from peft.utils.other import AuxiliaryTrainingWrapper

from lora_spec.inventory.matching import Match

Layer = tuple[str, int, float, float, int]


class Outcome(NamedTuple):
    """What both sides say; `refusal` is the class of the exception, and the rest is empty then."""

    refusal: str | None
    modules: tuple[Layer, ...] = ()
    parameters: tuple[Layer, ...] = ()
    wrapped: tuple[str, ...] = ()
    trainable: int = 0
    total: int = 0
    target_modules: object = None
    target_parameters: tuple[str, ...] = ()
    patterns: object = None


def by_peft(model: Any, arguments: dict[str, Any], *, meta: bool = True) -> Outcome:
    """Wraps a copy of the model. On the meta device nothing is computed; there is one parameter per name as usual."""
    model = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.device("meta" if meta else "cpu"):
                wrapped = get_peft_model(model, LoraConfig(**copy.deepcopy(arguments)))
        except Exception as error:  # noqa: BLE001 - which one it is, is what is compared
            return Outcome(type(error).__name__)
    return _outcome(wrapped)


def _outcome(wrapped: Any) -> Outcome:
    config = wrapped.peft_config["default"]
    tuner = wrapped.base_model
    trainable, total = wrapped.get_nb_trainable_parameters()
    layers = dict(_layers(tuner.model))
    return Outcome(
        refusal=None,
        modules=tuple(layers.get(name, lost(name)) for name in tuner.targeted_module_names),
        parameters=tuple(layers.get(name, lost(name)) for name in tuner.targeted_parameter_names),
        wrapped=tuple(sorted({_plain(n) for n, m in _modules(tuner.model) if isinstance(m, AuxiliaryTrainingWrapper)})),
        trainable=trainable,
        total=total,
        target_modules=_as_set(config.target_modules),
        target_parameters=tuple(sorted(config.target_parameters or ())),
        patterns=(dict(config.rank_pattern), dict(config.alpha_pattern)),
    )


def lost(name: str) -> Layer:
    """A layer that PEFT adapted and then wrapped away."""
    return name, 0, 0, 0, 0


def _modules(model: Any) -> Any:
    return model.named_modules(remove_duplicate=False)


def _layers(model: Any) -> Any:
    """Adapted modules and parameters by name; those in the copy of a saved module are passed over."""
    for name, module in _modules(model):
        if not isinstance(module, LoraLayer) or ".modules_to_save." in name:
            continue
        plain = _plain(name)
        if hasattr(module, "parameter_name"):
            plain = f"{plain}.{module.parameter_name}"
        own = sum(p.numel() for n, p in module.named_parameters() if n.startswith("lora_"))
        if type(module).__name__ == "MultiheadAttention":
            inner = module.base_layer.out_proj
            own += sum(p.numel() for n, p in inner.named_parameters() if n.startswith("lora_"))
        yield plain, (plain, module.r["default"], module.lora_alpha["default"], module.scaling["default"], own)


def _plain(name: str) -> str:
    """A name without what wrappers put into it."""
    name = re.sub(r"\.modules_to_save\.default(?=\.|$)", "", name)
    return re.sub(r"\.(original_module|token_adapter|base_layer)(?=\.|$)", "", name)


def _as_set(targets: Any) -> object:
    return targets if targets is None or isinstance(targets, str) else tuple(sorted(targets))


def by_match(match: Match) -> Outcome:
    """A match in the same terms."""
    if match.refusal is not None:
        return Outcome(match.refusal.exception)
    effective = match.effective
    return Outcome(
        refusal=None,
        modules=tuple((a.name, a.rank, a.alpha, a.scale, a.parameters) for a in match.modules),
        parameters=tuple((a.name, a.rank, a.alpha, a.scale, a.parameters) for a in match.parameters),
        wrapped=tuple(sorted({_plain(made.name) for made in (*match.saved, *match.tokens)})),
        trainable=match.trainable_parameters,
        total=match.all_parameters,
        target_modules=_as_set(effective.target_modules),
        target_parameters=tuple(sorted(effective.target_parameters)),
        patterns=(dict(effective.rank_pattern), dict(effective.alpha_pattern)),
    )


def differences(said: Outcome, true: Outcome) -> list[str]:
    """What differs, in words."""
    found = []
    for field in Outcome._fields:
        ours, theirs = getattr(said, field), getattr(true, field)
        if ours != theirs:
            found.append(f"{field}: {_short(ours, theirs)}")
    return found


def _short(ours: Any, theirs: Any) -> str:
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        only, missed = [x for x in ours if x not in theirs], [x for x in theirs if x not in ours]
        return f"{len(ours)} for {len(theirs)}; only ours {only[:3]}, only PEFT's {missed[:3]}"
    return f"{ours!r} for {theirs!r}"[:300]
