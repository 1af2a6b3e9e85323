"""Regular expressions that cannot be what was meant, whatever the model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lora_spec.diagnostics import Diagnostic, Rule, Severity
from lora_spec.rules.inspection import Finding, Inspection, new_adapter
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value
from lora_spec.spec.targets import Regex

REGEX_IS_A_NAME = Rule(
    "LS130",
    "regex-is-a-name",
    Severity.ERROR,
    "A regex must match the whole name of a module, such as model.layers.0.self_attn.q_proj. A bare name, or several "
    "joined by commas, matches none of them.",
    "lora: {rank: 16, alpha: 32, target_modules: {regex: q_proj}}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj]}",
)

AT_THE_TOP = {"lm_head", "score", "classifier", "qa_outputs", "embed_out", "output", "output_layer", "head", "visual"}
"""Modules that stand at the top of a model, whose whole name is one word."""


def inspect_regexes(parsed: Parsed) -> Iterator[Finding]:
    """Regexes that are names."""
    lora = new_adapter(parsed)
    for field in ("target_modules", "exclude_modules"):
        value = getattr(lora, field, None)
        if isinstance(value, Regex) and parsed.knows(("lora", field)):
            yield from _bare(field, value.regex, parsed)


def _bare(field: str, regex: str, parsed: Parsed) -> Iterator[Diagnostic]:
    path, places = ("lora", field), parsed.places
    name = places.name(path)
    if field == "target_modules" and re.fullmatch(r"\s*all[\s_-]*linears?\s*", regex, re.IGNORECASE):
        message = f"{name} is '{regex}', which is not PEFT's word all-linear, so it is a regex that matches nothing"
        yield at_value(
            places, path, REGEX_IS_A_NAME, message, "write all-linear", places.replacement(path, "all-linear")
        )
        return
    inner = regex.strip(" ^$()[]'\"")
    names = [name.strip(" '\"") for name in re.split(r"[|,\s]+", inner) if name.strip(" '\"")]
    if not names or not all(re.fullmatch(r"\w+", name) for name in names) or AT_THE_TOP.intersection(names):
        return
    listed = places.spelled(names)
    message = f"{name} is the regex {regex}, which must match a whole module name and matches none"
    remedy = f"write {name}: {listed}"
    yield at_value(places, path, REGEX_IS_A_NAME, message, remedy, places.replacement(path, names))


RULES = (REGEX_IS_A_NAME,)
INSPECTIONS = (Inspection(RULES, (), inspect_regexes),)
