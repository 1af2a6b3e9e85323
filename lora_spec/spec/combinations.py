"""What the settings of one document forbid each other: exclusive keys and combinations that PEFT refuses.

Each constraint is one function that yields a violation for each fault it sees; ``violations`` asks them all. They are
seen at construction, so a `LoraSpec` that exists keeps every one of them. Refusals were tried on peft 0.21.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lora_spec.diagnostics import DocumentPath, Rule
from lora_spec.spec import faults
from lora_spec.spec.inits import DefaultInit, RandomInit
from lora_spec.spec.lora import Lora
from lora_spec.spec.root import LoraSpec
from lora_spec.spec.targets import Regex


class Violation(NamedTuple):
    """A broken constraint: ``path`` is where it is shown, ``grounds`` all native paths that it rests on."""

    rule: Rule
    path: DocumentPath
    grounds: tuple[DocumentPath, ...]
    message: str
    help: str


def violations(spec: LoraSpec) -> Iterator[Violation]:
    """Every broken constraint of ``spec``."""
    if spec.lora is not None:
        for constraint in CONSTRAINTS:
            yield from constraint(spec.lora)


def _violation(rule: Rule, fields: tuple[str, ...], message: str, remedy: str) -> Violation:
    """One on fields of the `lora` section, shown at the first."""
    grounds = tuple(("lora", field) for field in fields)
    return Violation(rule, grounds[0], grounds, message, remedy)


ADAPTER_FIELDS = ("adapter_path", "adapter_name", "runtime_config")
"""What can be said of an adapter that is continued; all else is in its own config."""


def adapter_path_excludes(lora: Lora) -> Iterator[Violation]:
    """An adapter that is continued brings its own settings."""
    if lora.adapter_path is None:
        return
    for field in _settings_of_a_new_adapter(lora):
        yield _violation(
            faults.ADAPTER_PATH_EXCLUDES,
            (field, "adapter_path"),
            f"{field} cannot be set together with adapter_path: the adapter brings its own",
            f"remove {field} to continue the adapter, or remove adapter_path to start a new one",
        )


def _settings_of_a_new_adapter(lora: Lora) -> list[str]:
    """What differs from its default, so that a dumped spec can be read again."""
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Lora.model_fields.items()}
    return [name for name, default in defaults.items() if name not in ADAPTER_FIELDS and getattr(lora, name) != default]


def new_adapter_is_complete(lora: Lora) -> Iterator[Violation]:
    """A new adapter needs a rank and an alpha."""
    if lora.adapter_path is not None:
        return
    if lora.rank is None:
        yield _violation(
            faults.MISSING_KEY,
            ("rank", "adapter_path"),
            "rank is missing",
            "add rank, such as 16 (0 turns LoRA off), or adapter_path to continue an adapter",
        )
    if lora.alpha is None and lora.rank != 0:
        yield _violation(
            faults.MISSING_KEY,
            ("alpha", "adapter_path", "rank"),
            "alpha is missing: the adapter's scale is alpha / rank",
            f"add alpha; twice the rank is usual{f': alpha: {2 * lora.rank}' if lora.rank else ''}",
        )


def layers_need_names(lora: Lora) -> Iterator[Violation]:
    """PEFT selects layers only for a list of names (`LoraConfig.__post_init__`)."""
    if not isinstance(lora.target_modules, (str, Regex)):
        return
    form = "all-linear" if isinstance(lora.target_modules, str) else "a regex"
    for field in ("layers_to_transform", "layers_pattern"):
        if getattr(lora, field) is not None:
            yield _violation(
                faults.LAYERS_NEED_NAMES,
                (field, "target_modules"),
                f"{field} cannot be used with {form} in target_modules",
                "list the module names in target_modules, or say the layers in a regex: "
                r"{regex: '.*\.layers\.[0-3]\..*q_proj'}",
            )


def layers_pattern_needs_layers(lora: Lora) -> Iterator[Violation]:
    """PEFT refuses the pattern alone (`LoraConfig.__post_init__`)."""
    if lora.layers_pattern and lora.layers_to_transform is None:
        yield _violation(
            faults.LAYERS_PATTERN_ALONE,
            ("layers_pattern", "layers_to_transform"),
            "layers_pattern needs layers_to_transform: it only says where the layer index stands",
            "add layers_to_transform: [0, 1, …], or remove layers_pattern",
        )


def lora_bias_is_plain(lora: Lora) -> Iterator[Violation]:
    """PEFT's lora_bias works with the plain inits and without DoRA (`LoraConfig.__post_init__`)."""
    if not lora.lora_bias:
        return
    if not isinstance(lora.init, (DefaultInit, RandomInit)):
        yield _violation(
            faults.COMBINATION_REFUSED,
            ("lora_bias", "init"),
            f"lora_bias does not work with init: {lora.init.kind}",
            "remove lora_bias, or leave init at its default",
        )
    if lora.use_dora:
        yield _violation(
            faults.COMBINATION_REFUSED,
            ("lora_bias", "use_dora"),
            "lora_bias does not work with use_dora",
            "remove one of the two",
        )


VARIANTS = (
    "use_dora",
    "velora_config",
    "alora_invocation_tokens",
    "monteclora_config",
    "use_bdlora",
    "arrow_config",
    "kasa_config",
)
"""PEFT's `is_lora_variant` fields; a layer can be only one of them (`LoraLayer.resolve_lora_variant`)."""


def _chosen_variants(lora: Lora) -> list[str]:
    chosen = [field for field in VARIANTS if getattr(lora, field)]
    return [*chosen, "init"] if lora.init.kind == "mica" else chosen


def one_variant(lora: Lora) -> Iterator[Violation]:
    """A layer can be only one variant of LoRA."""
    first, *others = _chosen_variants(lora) or [""]
    for other in others:
        what = "init: mica" if other == "init" else other
        yield _violation(
            faults.VARIANTS_EXCLUDE,
            (other, first),
            f"{what} does not work with {first}: PEFT makes a layer one variant of LoRA only",
            "remove one of the two",
        )


def parameters_are_plain(lora: Lora) -> Iterator[Violation]:
    """PEFT's wrapper of parameters knows plain LoRA alone (`lora.ParamWrapper`)."""
    if not lora.target_parameters:
        return
    fields = [field for field in ("dropout", "lora_bias", "fan_in_fan_out") if getattr(lora, field)]
    for field in [*fields, *_chosen_variants(lora)]:
        what = "init: mica" if field == "init" else field
        yield _violation(
            faults.PARAMETERS_ARE_PLAIN,
            (field, "target_parameters"),
            f"{what} does not work with target_parameters: PEFT adapts parameters with plain LoRA only",
            f"remove {what}, or move the targets that are modules to a config of their own",
        )


def something_is_targeted(lora: Lora) -> Iterator[Violation]:
    """An empty list is not PEFT's default: it targets nothing."""
    if lora.target_modules == () and not lora.target_parameters:
        yield _violation(
            faults.NOTHING_TARGETED,
            ("target_modules", "target_parameters"),
            "target_modules is empty, so no module gets an adapter",
            "name modules, such as [q_proj, v_proj], or write all-linear; without the key PEFT takes its default",
        )


def tokens_or_whole_embedding(lora: Lora) -> Iterator[Violation]:
    """An embedding trains in full or by token (`set_additional_trainable_modules`)."""
    if not isinstance(lora.trainable_token_indices, dict):
        return
    for name in lora.trainable_token_indices:
        if name in (lora.modules_to_save or ()):
            yield _violation(
                faults.TOKENS_OR_WHOLE,
                ("trainable_token_indices", "modules_to_save"),
                f"{name} is in modules_to_save already, where all of its tokens train",
                "remove it from one of the two",
            )


def orthogonal_rank_is_even(lora: Lora) -> Iterator[Violation]:
    """The orthogonal start splits the rank in two (`LoraLayer.orthogonal_init`)."""
    if lora.init.kind != "orthogonal":
        return
    if lora.rank and lora.rank % 2:
        yield _violation(
            faults.COMBINATION_REFUSED,
            ("rank", "init"),
            f"init: orthogonal needs an even rank, not {lora.rank}",
            f"write rank: {lora.rank + 1}, or another init",
        )
    for name, rank in lora.rank_pattern.items():
        if rank % 2:
            yield _violation(
                faults.COMBINATION_REFUSED,
                ("rank_pattern", "init"),
                f"init: orthogonal needs even ranks, not {rank} for {name}",
                "write an even rank, or another init",
            )


def blocks_do_not_overlap(lora: Lora) -> Iterator[Violation]:
    """BD-LoRA makes one factor of a module block-diagonal, not both (`BdLoraConfig.__post_init__`)."""
    if lora.use_bdlora is None:
        return
    both = set(lora.use_bdlora.target_modules_bd_a or ()) & set(lora.use_bdlora.target_modules_bd_b or ())
    if both:
        yield _violation(
            faults.COMBINATION_REFUSED,
            ("use_bdlora",),
            f"{', '.join(sorted(both))} cannot be in target_modules_bd_a and target_modules_bd_b",
            "keep each name in one of the two lists",
        )


def megatron_has_no_dora(lora: Lora) -> Iterator[Violation]:
    """PEFT refuses both (`LoraConfig.__post_init__`)."""
    if lora.use_dora and lora.megatron_config:
        yield _violation(
            faults.COMBINATION_REFUSED,
            ("use_dora", "megatron_config"),
            "use_dora does not work with megatron_config",
            "remove one of the two",
        )


CONSTRAINTS: tuple[Callable[[Lora], Iterator[Violation]], ...] = (
    adapter_path_excludes,
    new_adapter_is_complete,
    layers_need_names,
    layers_pattern_needs_layers,
    lora_bias_is_plain,
    one_variant,
    parameters_are_plain,
    something_is_targeted,
    tokens_or_whole_embedding,
    orthogonal_rank_is_even,
    blocks_do_not_overlap,
    megatron_has_no_dora,
)
