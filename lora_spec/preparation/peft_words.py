"""PEFT's refusals and warnings as diagnostics, in PEFT's own words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from lora_spec.diagnostics import Diagnostic, DocumentPath, SpecError
from lora_spec.preparation.faults import diagnostic, fault
from lora_spec.rules.preparation import PEFT_REFUSED, PEFT_WARNED

REFUSALS = (ValueError, TypeError, NotImplementedError, AttributeError, KeyError, IndexError, RuntimeError, ImportError)
"""What PEFT 0.21.2 raises while it wraps a model."""

HELP_BY_KIND: tuple[tuple[str, DocumentPath, str], ...] = (
    (r"modules_to_save cannot", ("lora", "modules_to_save"), "name the whole module that should train in full"),
    (
        r"exclud",
        ("lora", "exclude_modules"),
        "every target was excluded: compare target_modules with exclude_modules and modules_to_save",
    ),
    (
        r"specify `?target_modules",
        ("lora", "target_modules"),
        "this PEFT has no default for the model type: name the targets, or write all-linear",
    ),
    (
        r"not found in the base model|was matched|no `target_parameters` found",
        ("lora", "target_modules"),
        "take names that the model has: print(model) lists them",
    ),
    (
        r"is not supported|not a valid target",
        ("lora", "target_modules"),
        "target linear, embedding or convolution layers; fused experts go into target_parameters",
    ),
    (
        r"incompatible with Mamba|out_proj|conv1d",
        ("lora", "target_modules"),
        "leave this layer out: a fused kernel reads its weight directly",
    ),
    (r"dropout", ("lora", "dropout"), "set dropout to 0"),
    (r"dora", ("lora", "use_dora"), "set use_dora to false"),
    (r"token_ind|trainable_token", ("lora", "trainable_token_indices"), "check the embedding's name and the token ids"),
    (r"replicat", ("lora", "layer_replication"), "check the ranges against the model's number of layers"),
    (r"initializ|init_lora_weights|svd|orthogonal", ("lora", "init"), "take init: default, or what this init asks for"),
)
"""Where to look and what to do, by what PEFT says; the first that matches."""


def refused(error: BaseException, *, changed: bool) -> SpecError:
    """PEFT's refusal as the error to raise; ``changed`` where modules of the model may have been replaced already."""
    words = _words(str(error)) or type(error).__name__
    at, advice = _advice(words)
    if changed:
        advice = f"{advice}; the model is partly changed, so start again from a freshly loaded one"
    return fault(PEFT_REFUSED, f"peft refused: {words}", advice, at=at)


OUR_CALLS = "`is_gradient_checkpointing` is deprecated"
"""PEFT 0.21.2 asks transformers 5.24.0 by a deprecated name; nobody's setting is at fault. Until PEFT stops."""


@contextmanager
def listening() -> Iterator[list[Diagnostic]]:
    """Collect what is warned meanwhile as diagnostics; deprecations are the libraries' affair and are passed on."""
    heard: list[Diagnostic] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield heard
    heard += [warned(str(w.message)) for w in caught if not _is_deprecation(w.category)]
    for warning in caught:
        if str(warning.message).startswith(OUR_CALLS):
            continue
        if _is_deprecation(warning.category):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def warned(words: str) -> Diagnostic:
    """One of PEFT's warnings as an info."""
    return diagnostic(PEFT_WARNED, f"peft warned: {_words(words)}")


def without_false(heard: Iterable[Diagnostic], parameters: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Drop what PEFT 0.21.2 says wrongly, and what it says twice.

    ``inject_adapter`` looks for the keys of rank_pattern and alpha_pattern among the targeted modules alone, and so
    calls keys ignored that it did apply to targeted ``parameters``.
    """
    unique = dict.fromkeys(heard)
    return tuple(d for d in unique if not _falsely_ignored(d.message, parameters))


def _falsely_ignored(message: str, parameters: Sequence[str]) -> bool:
    found = re.search(r"_pattern keys did not match any targeted module and were ignored: \[(.*)\]", message)
    if found is None:
        return False
    keys = [key.replace("\\\\", "\\") for key in re.findall(r"'([^']*)'", found[1])]
    return all(any(re.match(rf"(.*\.)?({key})$", name) for name in parameters) for key in keys)


def _advice(words: str) -> tuple[DocumentPath, str]:
    for pattern, at, advice in HELP_BY_KIND:
        if re.search(pattern, words, re.IGNORECASE):
            return at, advice
    return ("lora",), "see PEFT's documentation of LoraConfig"


def _words(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def _is_deprecation(category: type[Warning]) -> bool:
    return issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning))
