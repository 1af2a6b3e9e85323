"""The adapter to continue against the base model: whether its targets exist there and its weights fit."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from lora_spec.diagnostics import Rule, Severity
from lora_spec.inventory.adapter_folder import WEIGHTS, AdapterFolder, read_adapter_folder
from lora_spec.inventory.matching import Match, Reason, match
from lora_spec.inventory.matching.tables import is_converted
from lora_spec.inventory.sources import Found
from lora_spec.inventory.tensor_shapes import tensor_shapes
from lora_spec.inventory.tree import ModuleTree, Shape
from lora_spec.planning.adapter_file import saved_tensors
from lora_spec.rules.adapters import unusable
from lora_spec.rules.inspection import Finding, Unchecked, drafted
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value

ADAPTER_DOES_NOT_FIT = Rule(
    "LS236",
    "adapter-does-not-fit",
    Severity.ERROR,
    "An adapter fits the model that it was trained on. PEFT stops at weights of another shape; of weights for modules "
    "that the model does not have it says nothing, and where the adapter lacks weights it trains new ones.",
    "base_model: Qwen/Qwen2.5-7B\nlora: {adapter_path: ./adapter}   # trained on Qwen/Qwen2.5-0.5B",
    "base_model: Qwen/Qwen2.5-0.5B\nlora: {adapter_path: ./adapter}   # trained on Qwen/Qwen2.5-0.5B",
)
RULES = (ADAPTER_DOES_NOT_FIT,)

_AT = ("lora", "adapter_path")
_PREFIX = "base_model.model."


class _Misfit(NamedTuple):
    """What does not fit; ``of_itself`` where the adapter's two files disagree, whatever the base model."""

    what: str
    of_itself: bool = False


def inspect_adapter_on_model(parsed: Parsed, found: Found | None) -> Iterator[Finding]:
    """A continued adapter that this machine has and that does not fit the base model."""
    lora = drafted(parsed).lora
    path = lora.adapter_path if lora and parsed.knows(_AT) else None
    folder = read_adapter_folder(path) if path is not None else None
    if folder is None or folder.config is None or unusable(folder) is not None:
        return
    if found is None or found.tree is None:
        base = drafted(parsed).base_model if parsed.knows(("base_model",)) else "the base model"
        why = f" ({found.problem})" if found is not None and found.problem else ""
        yield Unchecked(_AT, f"the adapter against the modules of {base}{why}", found.remedy if found else "")
        return
    misfit = _misfit(folder, found.tree)
    if misfit is not None:
        name = parsed.places.name(_AT)
        message = f"the adapter in {name} does not fit {found.tree.model_class}: {misfit.what}"
        if misfit.of_itself:
            message = f"the adapter in {name} does not fit together: {misfit.what}"
        yield at_value(parsed.places, _AT, ADAPTER_DOES_NOT_FIT, message, _remedy(folder, misfit, parsed))


def _remedy(folder: AdapterFolder, misfit: _Misfit, parsed: Parsed) -> str:
    if misfit.of_itself:
        return "copy adapter_config.json and adapter_model.safetensors from the same run"
    base, trained_on = parsed.places.name(("base_model",)), (folder.config or {}).get("base_model_name_or_path")
    if isinstance(trained_on, str) and trained_on and trained_on != drafted(parsed).base_model:
        return f"write {base}: {trained_on}, which it was trained on, or name an adapter of this model"
    return "name an adapter of this model, or the base model that it was trained on"


def _misfit(folder: AdapterFolder, tree: ModuleTree) -> _Misfit | None:
    assert folder.config is not None
    matched = match(tree, folder.config)
    if matched.refusal is not None:
        return _Misfit(_refused(matched, folder))
    saved = tensor_shapes(folder.path / WEIGHTS)
    expected = {} if matched.inexact else _expected(tree, matched, lora_bias=bool(folder.config.get("lora_bias")))
    return _shapes_differ(saved, expected, tree) or _names_differ(saved, expected, tree)


def _refused(matched: Match, folder: AdapterFolder) -> str:
    assert matched.refusal is not None
    assert folder.config is not None
    targets = folder.config.get("target_modules")
    if matched.refusal.reason is Reason.NOTHING_MATCHED and targets:
        listed = [targets] if isinstance(targets, str) else sorted(targets)
        more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
        return f"none of its target_modules is there: {', '.join(listed[:5])}{more}"
    return matched.refusal.reason.value


def _expected(tree: ModuleTree, matched: Match, *, lora_bias: bool) -> dict[str, Shape]:
    """The tensors of an adapter of this config on this model, as PEFT names them in the file."""
    extra = "lora_B.bias" if lora_bias else "lora_magnitude_vector"
    return {tensor.name: tensor.shape for tensor in saved_tensors(tree, matched, 4, 4, extra)}


def _shapes_differ(saved: dict[str, Shape], expected: dict[str, Shape], tree: ModuleTree) -> _Misfit | None:
    """The first tensor whose shape is another; one of the base model's own, such as a resized embedding, too."""
    own = {f"{_PREFIX}{name}": shape for name, shape in tree.parameters()}
    for name, shape in saved.items():
        wanted = expected.get(name) or own.get(name.replace(".base_layer.", "."))
        if wanted is None or shape == wanted or (prod(shape) == prod(wanted) == 0):
            continue
        shown = name.removeprefix(_PREFIX)
        if _differ_in_rank(shown, shape, wanted):
            return _Misfit(
                f"{shown} is {_by(shape)}, and by its adapter_config.json it is {_by(wanted)}", of_itself=True
            )
        return _Misfit(f"{shown} is {_by(shape)}, and this model takes {_by(wanted)}")
    return None


def _differ_in_rank(name: str, shape: Shape, wanted: Shape) -> bool:
    """Whether two shapes of a LoRA matrix bridge the same widths."""
    if len(shape) != 2 or len(wanted) != 2:
        return False
    width = 1 if ".lora_A." in name or name.endswith(".lora_embedding_A") else 0
    return ".lora_" in name and "magnitude" not in name and shape[width] == wanted[width]


def _names_differ(saved: dict[str, Shape], expected: dict[str, Shape], tree: ModuleTree) -> _Misfit | None:
    """LoRA matrices of modules that the model does not have, or has and the file lacks.

    transformers 5 renames the tensors of some models while PEFT loads them, and newer classes put `language_model` into
    the path or took it away: those are left to the load itself.
    """
    if not expected or is_converted(tree.model_type):
        return None
    ours, theirs = {_core(n): n for n in expected if ".lora_" in n}, {_core(n): n for n in saved if ".lora_" in n}
    surplus = [theirs[core] for core in theirs if core not in ours]
    lacking = [ours[core] for core in ours if core not in theirs]
    if surplus:
        return _Misfit(f"it has weights for {_some(surplus)}, which the model does not have or does not adapt")
    return _Misfit(f"it has no weights for {_some(lacking)}") if lacking else None


def _core(name: str) -> str:
    """A tensor's name less the segments that differ between the classes of one model."""
    return ".".join(part for part in name.split(".") if part not in _MOVED)


_MOVED = {"base_model", "model", "language_model", "text_model"}


def _some(names: list[str]) -> str:
    modules = list(dict.fromkeys(name.removeprefix(_PREFIX).partition(".lora_")[0] for name in names))
    return modules[0] if len(modules) == 1 else f"{modules[0]} and {len(modules) - 1} more"


def _by(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "a single number"
