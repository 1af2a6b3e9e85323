"""Lists of module names: entries that cannot be the name of a module, and names that stand twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lora_spec.diagnostics import Diagnostic, DocumentPath, Range, Rule, Severity
from lora_spec.rules.inspection import Finding, Inspection, new_adapter
from lora_spec.rules.leaf_names import split_glued
from lora_spec.spec.parsing import Parsed
from lora_spec.spec.places import at_value
from lora_spec.spec.wording import yaml_text

JOINED_NAMES = Rule(
    "LS121",
    "joined-names",
    Severity.ERROR,
    "PEFT takes each entry of the list for one name. Several in one text match nothing, and beside a good name PEFT "
    "says nothing about it.",
    "lora: {rank: 16, alpha: 32, target_modules: ['q_proj,k_proj', v_proj]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj]}",
)
QUOTED_NAME = Rule(
    "LS122",
    "quoted-name",
    Severity.ERROR,
    "Quotes, brackets or spaces were left inside the name, often by a shell or an override. No module is called so, "
    "and beside a good name PEFT says nothing about it.",
    """lora: {rank: 16, alpha: 32, target_modules: ["'q_proj'", v_proj]}""",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
REGEX_IN_LIST = Rule(
    "LS123",
    "regex-in-list",
    Severity.ERROR,
    "PEFT takes a list entry as it stands, as a whole name or a dotted suffix of one. A pattern in a list matches "
    "nothing, and beside a good name PEFT says nothing about it.",
    r"lora: {rank: 16, alpha: 32, target_modules: ['.*layers\.0\..*q_proj']}",
    r"lora: {rank: 16, alpha: 32, target_modules: {regex: '.*layers\.0\..*q_proj'}}",
)
ALL_LINEAR_IN_LIST = Rule(
    "LS124",
    "all-linear-in-list",
    Severity.ERROR,
    "The word is special only as the whole value. In a list PEFT looks for a module of that name: alone it fails, "
    "beside another name it is silently dropped.",
    "lora: {rank: 16, alpha: 32, target_modules: [all-linear, lm_head]}",
    "lora: {rank: 16, alpha: 32, target_modules: all-linear}",
)
NOT_A_MODULE = Rule(
    "LS125",
    "not-a-module-name",
    Severity.ERROR,
    "No module can have that name, so the entry matches nothing, and beside a good name PEFT says nothing about it.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj.weight, v_proj]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}",
)
GLUED_NAMES = Rule(
    "LS126",
    "glued-names",
    Severity.ERROR,
    "A missing comma or line break joined two names into one that no module has; beside a good name PEFT says nothing.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_projk_proj, v_proj]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, k_proj, v_proj]}",
)
SPLIT_TEXT = Rule(
    "LS127",
    "split-text",
    Severity.ERROR,
    "A text was turned into a list of its letters. In modules_to_save a single letter is a suffix of many names, so "
    "whole parts of the base model would train.",
    "lora: {rank: 16, alpha: 32, modules_to_save: [l, m, _, h, e, a, d]}",
    "lora: {rank: 16, alpha: 32, modules_to_save: [lm_head]}",
)
DUPLICATE_NAME = Rule(
    "LS128",
    "duplicate-name",
    Severity.WARNING,
    "PEFT makes a set of the list, so the second has no effect; often another name was meant.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj, q_proj]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj, k_proj]}",
)
NAME_IN_TWO_LISTS = Rule(
    "LS129",
    "name-in-two-lists",
    Severity.ERROR,
    "PEFT follows one list and silently drops the other: a module that is saved in full or excluded gets no adapter, "
    "and exclusions do not reach modules_to_save.",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj, lm_head], modules_to_save: [lm_head]}",
    "lora: {rank: 16, alpha: 32, target_modules: [q_proj], modules_to_save: [lm_head]}",
)

LISTS = ("target_modules", "exclude_modules", "modules_to_save", "target_parameters")
"""The fields of `lora` that can be lists of names."""


class _Entry(NamedTuple):
    """A name at its place in one of the lists."""

    path: DocumentPath
    name: str

    @property
    def field(self) -> str:
        return str(self.path[1])


def _lists(parsed: Parsed) -> Iterator[tuple[str, tuple[_Entry, ...]]]:
    """Each list that is given, with the entries that are known."""
    lora = new_adapter(parsed)
    for field in LISTS:
        names = getattr(lora, field, None)
        if isinstance(names, tuple):
            entries = (_Entry(("lora", field, index), name) for index, name in enumerate(names))
            yield field, tuple(entry for entry in entries if parsed.knows(entry.path))


def inspect_entries(parsed: Parsed) -> Iterator[Finding]:
    """Entries that cannot name a module; each is told once, by the first kind that fits."""
    seen: set[Range] = set()
    for field, entries in _lists(parsed):
        if len(entries) > 2 and all(len(entry.name) == 1 for entry in entries):
            yield _split_text(field, entries, parsed)
            continue
        for entry in entries:
            place = parsed.places.value(entry.path)
            if place is None or place not in seen:  # one list can stand in two settings by an alias
                yield from _entry(entry, len(entries), parsed)
            seen |= {place} if place else set()


def _split_text(field: str, entries: tuple[_Entry, ...], parsed: Parsed) -> Diagnostic:
    text = "".join(entry.name for entry in entries)
    message = f"{parsed.places.name(('lora', field))} is the text {yaml_text(text)} split into letters"
    fixes = parsed.places.replacement(("lora", field), [text])
    return at_value(
        parsed.places, ("lora", field), SPLIT_TEXT, message, f"write {parsed.places.spelled([text])}", fixes
    )


_WORDS = {"all-linear", "all_linear", "alllinear", "all", "all-linears", "all_linears", "all linear"}
_REGEX_CHARACTERS = re.compile(r"[\\*+?^$|()\[\]{}]")
_QUOTES = "'\"`\u201c\u201d\u2018\u2019«»"
_AROUND = f" \t\r\n{_QUOTES}[],;:\u00a0\u200b\u200c\u200d\ufeff"
"""What clings to a name that was cut out of another text."""
_SEPARATORS = r"(?:[\s,;]|\\n)+"


def _entry(entry: _Entry, count: int, parsed: Parsed) -> Iterator[Diagnostic]:
    name, stripped = entry.name, entry.name.strip(_AROUND)
    bare = re.sub(r"^[-!~•*\u2013\u2014] +", "", stripped)
    parts = [part.strip(_AROUND) for part in re.split(_SEPARATORS, bare) if part.strip(_AROUND)]
    if not stripped:
        yield _at(entry, parsed, NOT_A_MODULE, "is empty", "remove it, or write a module name")
    elif stripped.lower() in _WORDS and entry.field == "target_modules":
        yield _all_linear(entry, count, parsed)
    elif stripped.lower() in _WORDS and "linear" in stripped.lower():
        yield _at(entry, parsed, NOT_A_MODULE, "is a word of target_modules alone", "write the names out, or remove it")
    elif len(parts) > 1 and all(re.fullmatch(r"[\w.-]+", part) for part in parts):
        yield _at(entry, parsed, JOINED_NAMES, f"is {len(parts)} names in one text", _splitting(parts), parts)
    elif bare != name and not _REGEX_CHARACTERS.search(bare):
        yield _at(entry, parsed, QUOTED_NAME, _left_inside(name), f"write {yaml_text(bare)}", [bare])
    elif _REGEX_CHARACTERS.search(name):
        yield _regex(entry, count, parsed)
    elif glued := split_glued(name):
        yield _at(
            entry, parsed, GLUED_NAMES, f"looks like {len(glued)} names without a comma", _splitting(glued), glued
        )
    else:
        yield from _impossible(entry, parsed)


def _splitting(parts: list[str]) -> str:
    return f"write {', '.join(yaml_text(part) for part in parts)}"


def _left_inside(name: str) -> str:
    if any(quote in name for quote in _QUOTES):
        return "has quotes left inside the name"
    if any(b in name for b in "[]"):
        return "has brackets left inside the name"
    if any(mark in name for mark in ",;:"):
        return "has punctuation left around the name"
    if name.strip() == name and not name.startswith(("-", "!", "~", "•", "*", "\u2013", "\u2014")):
        return "has invisible characters around the name"
    return "has spaces around the name" if name.strip() != name else "has a list mark left inside the name"


def _all_linear(entry: _Entry, count: int, parsed: Parsed) -> Diagnostic:
    path = entry.path[:-1]
    name = parsed.places.name(path)
    remedy = f"write {name}: all-linear"
    fixes = parsed.places.replacement(path, "all-linear") if count == 1 else ()
    if count > 1:
        remedy += ", or list the names of all modules that you want (all-linear leaves the output head out)"
    return at_value(
        parsed.places, entry.path, ALL_LINEAR_IN_LIST, f"{entry.name} is not special in a list", remedy, fixes
    )


def _regex(entry: _Entry, count: int, parsed: Parsed) -> Diagnostic:
    from lora_spec.spec.repairs import as_regex  # start-up time: few files have a pattern in a list

    places, path = parsed.places, entry.path[:-1]
    message = f"{yaml_text(entry.name)} is a pattern, but list entries are plain names"
    if suffix := re.fullmatch(r"(?:\^?\.?\*\\?\.)?([A-Za-z_][\w.]*)\$?", entry.name):
        remedy = f"write {suffix[1]}: a name matches wherever it ends a module's name"
        fixes = places.replacement(entry.path, suffix[1])
        return at_value(places, entry.path, REGEX_IN_LIST, message, remedy, fixes)
    if entry.field in ("modules_to_save", "target_parameters"):
        remedy = f"{places.name(path)} takes no patterns: write the names out"
        return at_value(places, entry.path, REGEX_IN_LIST, message, remedy)
    pattern = as_regex(entry.name)
    value = {"regex": pattern} if parsed.dialect == "lora-spec" else pattern  # other tools take a text for a regex
    whole = f"{places.name(path)}: {places.spelled(value)}"
    remedy = f"write {whole}" if count == 1 else f"write one regex that covers the list, such as {whole}"
    fixes = places.replacement(path, value, safe=False) if count == 1 else ()
    return at_value(places, entry.path, REGEX_IN_LIST, message, remedy, fixes)


_PARAMETER = r"(.+?)(?:\.(?:weight|bias|base_layer|lora_[AB]|lora_embedding_[AB]|default))+"
_CLASSES = {"Linear", "Linear4bit", "Linear8bitLt", "Conv1D", "Conv2d", "Embedding", "LoraLayer"}
_NO_NAMES = {"null", "none", "true", "false", "nil"}


def _impossible(entry: _Entry, parsed: Parsed) -> Iterator[Diagnostic]:
    """A plain name that no module can have."""
    name, where = entry.name, entry.field
    if name.isdigit():
        yield _at(entry, parsed, NOT_A_MODULE, "is a number, not a name", "write a module name such as q_proj")
    elif name.lower() in _NO_NAMES:
        yield _at(entry, parsed, NOT_A_MODULE, "is no module name", "remove it, or write a module name such as q_proj")
    elif name.startswith(("nn.", "torch.nn.")) or name in _CLASSES:
        what = "is a class; modules are found by their names, such as q_proj"
        remedy = "write all-linear for every linear layer, or the modules' names"
        yield _at(entry, parsed, NOT_A_MODULE, what, remedy)
    elif name[0] in "!-~":
        listed = "" if where == "exclude_modules" else f"; list {name[1:].strip()} in exclude_modules to leave it out"
        yield _at(entry, parsed, NOT_A_MODULE, "is no module name", f"remove {name[0]}{listed}")
    elif "/" in name or name.startswith(".") or name.endswith(".") or ".." in name:
        cleaned = re.sub(r"\.+", ".", name.replace("/", ".")).strip(".")
        yield _at(entry, parsed, NOT_A_MODULE, "is no module name", f"write {cleaned}", [cleaned])
    elif name.startswith("base_model.model."):
        cleaned = name.removeprefix("base_model.model.")
        what = "starts with PEFT's own prefix; names are those of the model before it is wrapped"
        yield _at(entry, parsed, NOT_A_MODULE, what, f"write {cleaned}", [cleaned])
    elif where != "target_parameters" and (tensor := re.fullmatch(_PARAMETER, name)):
        what = "is the name of a parameter, not of a module"
        yield _at(entry, parsed, NOT_A_MODULE, what, f"write {tensor[1]}", [tensor[1]])
    elif odd := next((char for char in name if not (char.isascii() and (char.isalnum() or char in "_.-"))), None):
        yield _odd_character(entry, odd, parsed)


def _odd_character(entry: _Entry, odd: str, parsed: Parsed) -> Diagnostic:
    """A character that no module's name has, such as a full-width or a Cyrillic letter that looks like ours."""
    import unicodedata  # start-up time: few names need it

    plain = unicodedata.normalize("NFKC", entry.name)
    called = odd if odd.isascii() else f"{odd} ({unicodedata.name(odd, 'unnamed').lower()})"
    if plain != entry.name and re.fullmatch(r"[\w.]+", plain, re.ASCII):
        return _at(entry, parsed, NOT_A_MODULE, f"has the character {called}", f"write {plain}", [plain])
    return _at(entry, parsed, NOT_A_MODULE, f"has the character {called}", "type the name again")


def _at(
    entry: _Entry, parsed: Parsed, rule: Rule, what: str, remedy: str, replacement: list[str] | None = None
) -> Diagnostic:
    fixes = parsed.places.items(entry.path, replacement) if replacement else ()
    shown = entry.name if entry.name.strip() else parsed.places.name(entry.path)
    shown = shown if shown.isprintable() and shown.strip() == shown else yaml_text(shown)
    return at_value(parsed.places, entry.path, rule, f"{shown} {what}", remedy, fixes)


def inspect_repeats(parsed: Parsed) -> Iterator[Finding]:
    """Names that stand twice, in one list or in two."""
    lists = dict(_lists(parsed))
    for entries in lists.values():
        seen: set[str] = set()
        for entry in entries:
            if entry.name in seen:
                yield at_value(
                    parsed.places, entry.path, DUPLICATE_NAME, f"{entry.name} stands in the list twice", "remove one"
                )
            seen.add(entry.name)
    for first, second, what in _PAIRS:
        names = {entry.name for entry in lists.get(first, ())}
        for entry in lists.get(second, ()):
            if entry.name in names:
                message = f"{entry.name} is in {first} and {second}: {what}"
                yield at_value(parsed.places, entry.path, NAME_IN_TWO_LISTS, message, "keep it in one of the two")


_PAIRS = (
    ("target_modules", "modules_to_save", "it trains in full and gets no adapter"),
    ("target_modules", "exclude_modules", "it gets no adapter"),
    ("modules_to_save", "exclude_modules", "the exclusion has no effect on what is saved"),
)

RULES = (
    JOINED_NAMES,
    QUOTED_NAME,
    REGEX_IN_LIST,
    ALL_LINEAR_IN_LIST,
    NOT_A_MODULE,
    GLUED_NAMES,
    SPLIT_TEXT,
    DUPLICATE_NAME,
    NAME_IN_TWO_LISTS,
)
INSPECTIONS = (
    Inspection(RULES[:7], (), inspect_entries),
    Inspection(RULES[7:], (), inspect_repeats),
)
