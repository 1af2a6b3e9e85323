"""The value that was probably meant by one that cannot be taken; None where nothing is plain."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lora_spec.diagnostics import closest
from lora_spec.spec.foreign_names import DTYPES, NOTHING, TASKS
from lora_spec.spec.targets import compiled

_BOOLEANS = {"true": True, "yes": True, "on": True, "y": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "off": False, "n": False, "0": False}
_REGEX_CHARACTERS = r"\*+?^$|(){}"


class Meant(NamedTuple):
    """A value, and whether it is sure that it was meant."""

    value: Any
    safe: bool = True


def of_type(value: Any, expected: str) -> Meant | None:
    """``value`` as the expected type where it says so plainly: a quoted number without quotes, `yes` as true."""
    if isinstance(value, (list, tuple)):
        return _only_item(value, expected)
    if expected.startswith("true") and isinstance(value, (str, int)):
        answer = _BOOLEANS.get(str(value).strip().lower())
        return None if answer is None else Meant(answer)
    if expected in ("a number", "a whole number"):
        number = _number(value, whole=expected == "a whole number")
        return None if number is None else Meant(number)
    if expected == "text" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return Meant(str(value))
    if expected.startswith("a list") and isinstance(value, str) and value.lower().strip() not in NOTHING:
        names = name_list(value)
        return Meant(names) if names else None
    return None


def _only_item(value: Sequence[Any], expected: str) -> Meant | None:
    """The one item of a list that stands where a single value belongs."""
    if len(value) != 1 or expected.startswith("a list"):
        return None
    fits = {"a whole number": int, "a number": (int, float), "text": str}.get(expected, bool)
    is_plain = isinstance(value[0], fits) and (fits is bool or not isinstance(value[0], bool))  # type: ignore[arg-type]
    return Meant(value[0]) if is_plain else of_type(value[0], expected)


def _number(value: Any, *, whole: bool) -> float | None:
    if not isinstance(value, (str, float)):  # a whole number that is refused is too large
        return None
    text = str(value).strip(" \t,;").replace("_", "")
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("% "))
    except ValueError:
        return None
    if percent:
        number = round(number / 100, 12)
    if not math.isfinite(number):
        return None
    if number.is_integer():
        return int(number)
    return None if whole else number


def numbers(value: Any, expected: str) -> Meant | None:
    """One number, or a text of several, as the list that was meant; a single number where one is wanted."""
    if expected in ("a whole number", "a number") and not isinstance(value, (list, tuple)):
        text = of_type(value, expected)
        return text or (_range(value) if isinstance(value, str) else None)
    if expected.startswith("a list of pairs"):
        is_pair = isinstance(value, (list, tuple)) and len(value) == 2
        return Meant([list(value)]) if is_pair else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Meant([value])
    found = [of_type(part, "a whole number") for part in name_list(value)] if isinstance(value, str) else []
    if found and all(found):
        return Meant([part.value for part in found if part])
    return _range(value) if isinstance(value, str) else None


def _range(text: str) -> Meant | None:
    """`0-3` as the numbers that it stands for."""
    found = re.fullmatch(r"\s*(\d{1,4})\s*(?:-|:|\.\.+)\s*(\d{1,4})\s*", text)
    if not found or not 0 < int(found[2]) - int(found[1]) < 64:
        return None
    return Meant(list(range(int(found[1]), int(found[2]) + 1)), safe=False)


def name_list(text: str) -> list[str]:
    """The names in a text that joins them, or that is a list left in quotes."""
    parts = re.split(r"[\s,;|]+", text.strip(" []()"))
    return [name for part in parts if (name := part.strip("'\"`[]-"))]


def one_of(value: Any, words: Sequence[Any]) -> Any:
    """The word among ``words`` that was probably meant, or None."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return value[0] if value[0] in words else one_of(value[0], words)
    if isinstance(value, (bool, Mapping, list, tuple)):
        return "none" if value is False and "none" in words else None
    text = str(value).strip().removeprefix("TaskType.")
    for known in (DTYPES.get(text), TASKS.get(text.lower().replace("_", "-"))):
        if known in words:
            return known
    if text.lower() in NOTHING:
        return "none" if "none" in words else None
    if number := re.match(r"[0-9]+", text):
        return next((word for word in words if word == int(number[0])), None)
    near = closest(text, [word for word in words if isinstance(word, str)])
    return near if near and _digits(near) == _digits(text) else None


def _digits(text: str) -> str:
    """Another number is another thing: float64 is no misspelling of float16."""
    return "".join(filter(str.isdigit, text))


def init(value: Any, kinds: Sequence[str]) -> Any:
    """The init that was probably meant, in its short form where it has one."""
    text = value.strip().lower() if isinstance(value, str) else ""
    if text in ("true", "false"):
        return text == "true"
    if text in ("kaiming", "kaiming_uniform"):
        return "default"
    if niter := re.fullmatch(r"pissa[_-]?niter[_-]?([0-9]+)", text):
        return {"kind": "pissa", "niter": int(niter[1])} if int(niter[1]) else "pissa"
    return one_of(value, kinds)


def section(value: Any, key: str, words: Sequence[Any]) -> Mapping[str, Any] | None:
    """A section from the value of its one required key: `fsdp: fsdp2` as `fsdp: {strategy: fsdp2}`."""
    word = one_of(value, words) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    return None if word is None else {key: word}


def targets(text: str, may_be_all: bool) -> Meant | None:  # noqa: FBT001 - whether PEFT's word is one of the forms
    """What a bare text as target probably is: the word, a list of names, or a regex; null where it says none."""
    text = text.strip().removeprefix("re:").strip()
    if text.lower() in NOTHING or not name_list(text):
        return Meant(None) if text and not may_be_all else None
    if may_be_all and is_all_linear(text):
        return Meant("all-linear")
    inner = text.strip("^$()")
    if re.fullmatch(r"\w+(?:\|\w+)*", inner):
        return Meant(inner.split("|"))
    if any(char in text for char in _REGEX_CHARACTERS):
        return Meant({"regex": as_regex(text)}, safe=False)
    return Meant(name_list(text))


def is_all_linear(text: str) -> bool:
    """Whether a text is PEFT's word for all linear layers, in another spelling."""
    word = re.sub(r"[\s_-]+", "-", text.strip().lower())
    return (
        word in ("all", "linear", "linears", "all-linears", "*")
        or closest(word, ["all-linear"], cutoff=0.7) is not None
    )


def as_regex(pattern: str) -> str:
    """A pattern for a name or a part of one as a regex for the whole, that Python can compile."""
    pattern = pattern.strip().removeprefix("re:").removesuffix("$").removeprefix("^")
    if re.search(r"(?:^|\w)\*", pattern) and re.fullmatch(r"[\w.*?-]+", pattern):  # a glob
        pattern = pattern.replace(".", r"\.").replace("*", ".*").replace("?", ".")
    if not _compiles(pattern):
        pattern = re.escape(pattern.strip("\\"))
    return pattern if pattern.startswith((".*", "model", "(.*")) else rf".*\.{pattern}"


def _compiles(pattern: str) -> bool:
    try:
        compiled(pattern)
    except ValueError:
        return False
    return True


def device(value: Any) -> str | None:
    """PyTorch's name of a device: `gpu` and a bare number mean CUDA's."""
    text = str(value).strip().lower()
    found = re.fullmatch(r"(gpu|cuda|)[\s:_-]*([0-9]*)", text)
    if isinstance(value, bool) or not text or not found:
        return None
    return f"cuda:{found[2]}" if found[2] else "cuda"
