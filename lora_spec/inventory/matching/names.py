"""How PEFT compares an entry with a name: whole names and dotted suffixes, regexes, saved modules, layers, patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lora_spec.inventory.matching.result import Reason, RefusedError


def compiled(pattern: str, written: str) -> re.Pattern[str]:
    """The compiled ``pattern``; refuses as PEFT does, with the error of `re`, where it is none."""
    try:
        return re.compile(pattern)
    except re.error:
        raise RefusedError(Reason.BAD_REGEX, re.error.__name__, written) from None


class Suffixes:
    """Entries of a list by name: an entry is a whole name or what stands behind a dot (`check_target_module_exists`,
    PEFT 0.21.2, `tuners/tuners_utils.py`). One look-up for each length of the entries that have its last segment.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Of entries that are there twice the first counts."""
        self.places: dict[str, int] = {}
        for place, entry in enumerate(entries):
            self.places.setdefault(entry, place)
        self.lengths: dict[str, set[int]] = {}
        for entry in self.places:
            self.lengths.setdefault(entry.rpartition(".")[2], set()).add(len(entry))

    def __contains__(self, name: str) -> bool:
        return name in self.places

    def hits(self, name: str) -> list[int]:
        """The places of the entries that match, in order."""
        found = []
        size = len(name)
        for length in self.lengths.get(name[name.rfind(".") + 1 :], ()):
            behind = size - length
            if (behind == 0 or (behind > 0 and name[behind - 1] == ".")) and name[behind:] in self.places:
                found.append(self.places[name[behind:]])
        found.sort()
        return found


Matcher = Callable[[str], list[int]]
"""Gives the places of the entries that match a name; a single string has the place 0."""


def matcher(value: str | Sequence[str] | None) -> Matcher:
    """For ``target_modules`` and ``exclude_modules``: a string is a regex for whole names, a list is literal."""
    if isinstance(value, str):
        match = compiled(value, value).fullmatch
        return lambda name: [0] if match(name) else []
    return Suffixes(value or ()).hits


class Saving:
    """Which names ``modules_to_save`` keeps from LoRA: each entry is a regex for a module and all that is in it
    (`check_target_module_exists`, PEFT 0.21.2).
    """

    def __init__(self, entries: Sequence[str]) -> None:
        """Entries that are plain words are looked up, the others are compiled."""
        self.segments = {entry: place for place, entry in reversed(list(enumerate(entries))) if _is_word(entry)}
        self.regexes = [
            (place, compiled(rf"(^|.*\.){entry}($|\..*)", entry).match)
            for place, entry in enumerate(entries)
            if not _is_word(entry)
        ]

    def hits(self, name: str) -> list[int]:
        """The places of the entries that keep this name from LoRA."""
        if not self.segments and not self.regexes:
            return []
        words = {self.segments[part] for part in name.split(".") if part in self.segments}
        return sorted(words.union(place for place, match in self.regexes if match(name)))


def _is_word(entry: str) -> bool:
    return re.fullmatch(r"\w+", entry) is not None


def layer_finder(patterns: Sequence[str]) -> Callable[[str], int | None]:
    """Reads the layer's number in a name, as `check_target_module_exists` of PEFT 0.21.2 does."""
    if patterns:
        matches = [compiled(rf"(?:^|.*?\.){pattern}\.(?P<idx>\d+)\.", pattern).match for pattern in patterns]
    else:
        matches = [re.compile(r".*?\.[^.]*\.(?P<idx>\d+)\.").match]

    def find(name: str) -> int | None:
        found = next((hit for match in matches if (hit := match(name))), None)
        return None if found is None else int(found["idx"])

    return find


class _Key(NamedTuple):
    place: int
    match: Callable[[str], Any]
    tail: str


class Patterns:
    """Keys of ``rank_pattern`` or ``alpha_pattern`` (`get_pattern_key`, PEFT 0.21.2, `utils/other.py`): a regex that
    starts at a segment and ends at the name's end; the first key that matches counts.

    Keys without any operator are looked up by suffix. Of the others, those are tried whose literal end fits.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        """Sort the keys into literal ones and regexes."""
        self.keys = tuple(keys)
        self.bad = [place for place, key in enumerate(self.keys) if not is_regex(rf"(.*\.)?({key})$")]
        self.literal = Suffixes(
            key.replace(r"\.", ".") if _is_literal(key) else f"\n{place}" for place, key in enumerate(self.keys)
        )
        self.regexes = [
            _Key(place, compiled(rf"(.*\.)?({key})$", key).match, _tail(key))
            for place, key in enumerate(self.keys)
            if not _is_literal(key) and place not in self.bad
        ]
        self.fitting: dict[str, list[_Key]] = {}

    def hits(self, name: str) -> list[int]:
        """The places of all keys that match, in order. Refuses where PEFT would come upon a key that is no regex."""
        found = self.literal.hits(name)
        leaf = name.rpartition(".")[2]
        if leaf not in self.fitting:
            self.fitting[leaf] = [key for key in self.regexes if leaf.endswith(key.tail)]
        found += [key.place for key in self.fitting[leaf] if key.match(name)]
        found.sort()
        if self.bad and (not found or self.bad[0] < found[0]):
            raise self.refusal()
        return found

    def refusal(self) -> RefusedError:
        """For the first key that is no regex."""
        return RefusedError(Reason.BAD_REGEX, re.error.__name__, self.keys[self.bad[0]])


def is_regex(text: str) -> bool:
    """Whether ``text`` compiles."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _is_literal(key: str) -> bool:
    return re.fullmatch(r"(?:\w|\\\.)+", key) is not None


def _tail(key: str) -> str:
    """Letters that a name must end with to match ``key``; empty where that is not plain."""
    if "|" in key or "(?" in key:
        return ""
    plain = re.search(r"\w*$", key)
    tail = plain[0] if plain else ""
    return tail if tail == key or not key.removesuffix(tail).endswith("\\") else ""


def suffixes_of(name: str) -> Iterator[str]:
    """What a name ends with, segment by segment, the shortest first."""
    dot = name.rfind(".")
    while dot >= 0:
        yield name[dot + 1 :]
        dot = name.rfind(".", 0, dot)
    yield name


def fewest_entries(targets: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """`_find_minimal_target_modules` (PEFT 0.21.2, `tuners/tuners_utils.py`): a long list, told in fewer suffixes."""
    wanted = {target: list(suffixes_of(target)) for target in targets}
    if "" in wanted:
        raise RefusedError(Reason.ARGUMENTS, "ValueError", "target_modules")
    ends = {suffix for suffixes in wanted.values() for suffix in suffixes}
    taken: set[str] = set()
    for other in others:
        for suffix in suffixes_of(other):
            if suffix not in ends:
                break  # what is no end is none when it grows
            taken.add(suffix)
    required: set[str] = set()
    for item, suffixes in sorted(wanted.items(), key=lambda pair: pair[1]):
        for suffix in suffixes:
            if suffix in required or suffix in taken:
                continue
            if not any(item.endswith("." + chosen) for chosen in required):
                required.add(suffix)
                break
    return tuple(sorted(required or wanted))
