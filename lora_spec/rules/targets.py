"""Targets against the modules of a model that the caller has. The rest of LS2xx needs the whole module tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lora_spec.diagnostics import Diagnostic, Rule, Severity, closest
from lora_spec.rules.inspection import Finding, Unchecked, drafted, new_adapter
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value
from lora_spec.spec.targets import Regex
from lora_spec.spec.wording import yaml_text

TARGET_MATCHES_NOTHING = Rule(
    "LS201",
    "target-matches-nothing",
    Severity.ERROR,
    "PEFT complains only when nothing at all matches. An entry without a match beside others that do match is skipped "
    "without a word: fewer modules train than the file says.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, w_pack]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
RULES = (TARGET_MATCHES_NOTHING,)


def inspect_targets(parsed: Parsed, modules: Sequence[str] | None) -> Iterator[Finding]:
    """Each entry of target_modules against the names of all modules; unchecked where there are none."""
    lora, path = new_adapter(parsed), ("lora", "target_modules")
    if lora is None:
        return
    if modules is None:
        base = drafted(parsed).base_model if parsed.knows(("base_model",)) else "the base model"
        yield Unchecked(path, f"the target names against the modules of {base}")
        return
    targets = lora.target_modules
    if isinstance(targets, Regex) and parsed.knows(path) and not _matches(targets, modules):
        message = f"the regex {targets.regex} matches no module of the model"
        yield at_value(parsed.places, path, TARGET_MATCHES_NOTHING, message, "it must match the whole module name")
    for index, entry in enumerate(targets if isinstance(targets, tuple) else ()):
        at = (*path, index)
        if parsed.knows(at) and not any(name == entry or name.endswith(f".{entry}") for name in modules):
            yield _no_match(entry, at, modules, parsed)


def _matches(targets: Regex, modules: Sequence[str]) -> bool:
    return any(re.fullmatch(targets.regex, name) for name in modules)


def _no_match(entry: str, at: tuple[str | int, ...], modules: Sequence[str], parsed: Parsed) -> Diagnostic:
    leaves = sorted({name.rpartition(".")[2] for name in modules} - {""})
    near = closest(entry, [leaf for leaf in leaves if not leaf.isdigit()])
    message = f"{yaml_text(entry)} matches no module of the model"
    if near is None:
        return at_value(parsed.places, at, TARGET_MATCHES_NOTHING, message, "name a module that the model has")
    fixes = parsed.places.replacement(at, near)
    return at_value(parsed.places, at, TARGET_MATCHES_NOTHING, message, f"did you mean {near}?", fixes)
