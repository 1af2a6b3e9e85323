"""The arguments of `peft.LoraConfig` that decide what is adapted, with PEFT's defaults filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from lora_spec.inventory.matching.result import Reason, RefusedError

Names: TypeAlias = str | tuple[str, ...] | None
Pattern: TypeAlias = tuple[tuple[str, Any], ...]

VARIANTS = ("arrow_config", "kasa_config", "monteclora_config", "use_bdlora", "velora_config")
"""Variants that add or change tensors in ways that are not counted here."""


class Settings(NamedTuple):
    """`LoraConfig` of PEFT 0.21.2 as far as matching and counting read it. Frozen: a step gives a new one.

    ``modules_to_tie``, ``targets_to_tie`` and ``shortened``, a long target_modules told in fewer entries, are PEFT's.
    """

    r: int = 8
    lora_alpha: float = 8
    target_modules: Names = None
    target_parameters: tuple[str, ...] | None = None
    exclude_modules: Names = None
    modules_to_save: tuple[str, ...] | None = None
    layers_to_transform: int | tuple[int, ...] | None = None
    layers_pattern: tuple[str, ...] = ()
    rank_pattern: Pattern = ()
    alpha_pattern: Pattern = ()
    layer_replication: tuple[tuple[int, int], ...] = ()
    trainable_token_indices: tuple[int, ...] | tuple[tuple[str, tuple[int, ...]], ...] | None = None
    tokens_by_name: bool = False
    bias: str = "none"
    task_type: str | None = None
    init_lora_weights: bool | str = True
    use_rslora: bool = False
    use_dora: bool = False
    lora_bias: bool = False
    lora_dropout: float = 0.0
    fan_in_fan_out: bool = False
    ensure_weight_tying: bool = False
    alora: bool = False
    modules_to_tie: tuple[str, ...] | None = None
    targets_to_tie: tuple[str, ...] = ()
    shortened: tuple[str, ...] | None = None
    uncounted: tuple[str, ...] = ()

    @property
    def rank_map(self) -> dict[str, Any]:
        """The rank pattern as a dict."""
        return dict(self.rank_pattern)


def settings_of(arguments: Mapping[str, Any]) -> Settings:
    """The settings in ``arguments``; those that decide nothing here are passed over."""
    plain = {
        name: arguments[name]
        for name in Settings._fields
        if name in arguments and name not in _CONVERTED and arguments[name] is not None
    }
    tokens = arguments.get("trainable_token_indices")
    return Settings(
        **plain,
        target_modules=_names(arguments.get("target_modules")),
        target_parameters=_names(arguments.get("target_parameters")),
        exclude_modules=_names(arguments.get("exclude_modules")),
        modules_to_save=_names(arguments.get("modules_to_save")),
        layers_to_transform=_layers(arguments.get("layers_to_transform")),
        layers_pattern=_listed(arguments.get("layers_pattern")),
        rank_pattern=tuple((arguments.get("rank_pattern") or {}).items()),
        alpha_pattern=tuple((arguments.get("alpha_pattern") or {}).items()),
        layer_replication=tuple((start, end) for start, end in arguments.get("layer_replication") or ()),
        trainable_token_indices=_tokens(tokens),
        tokens_by_name=isinstance(tokens, Mapping),
        alora=arguments.get("alora_invocation_tokens") is not None,
        uncounted=tuple(name for name in VARIANTS if arguments.get(name)),
    )


_CONVERTED = {
    "target_modules",
    "target_parameters",
    "exclude_modules",
    "modules_to_save",
    "layers_to_transform",
    "layers_pattern",
    "rank_pattern",
    "alpha_pattern",
    "layer_replication",
    "trainable_token_indices",
}


def check_settings(settings: Settings) -> None:
    """What `LoraConfig.__post_init__` raises on (PEFT 0.21.2)."""
    if isinstance(settings.target_parameters, str):
        raise RefusedError(Reason.ARGUMENTS, "TypeError", "target_parameters")
    text = isinstance(settings.target_modules, str)
    if text and settings.layers_to_transform is not None:
        raise RefusedError(Reason.ARGUMENTS, "ValueError", "target_modules", "layers_to_transform")
    if settings.layers_pattern and (text or settings.layers_to_transform is None):
        raise RefusedError(Reason.ARGUMENTS, "ValueError", "layers_pattern", "layers_to_transform")
    if settings.lora_bias and not isinstance(settings.init_lora_weights, bool):
        raise RefusedError(Reason.ARGUMENTS, "ValueError", "lora_bias", "init_lora_weights")
    if settings.lora_bias and settings.use_dora:
        raise RefusedError(Reason.ARGUMENTS, "ValueError", "lora_bias", "use_dora")


def _names(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else _ordered(value)


def _ordered(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(values) if isinstance(values, (set, frozenset)) else values)


def _layers(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else tuple(value)


def _listed(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value else tuple(value or ())


def _tokens(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((name, tuple(indices)) for name, indices in value.items())
    return None if value is None else tuple(value)
