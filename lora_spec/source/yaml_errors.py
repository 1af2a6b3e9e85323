"""What PyYAML could not parse, in the user's words and the same for both of its parsers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import yaml

from lora_spec.diagnostics import Diagnostic, Edit, Fix, Range
from lora_spec.source.faults import SYNTAX_ERROR, fault
from lora_spec.source.places import Places

_Explain: TypeAlias = Callable[[Places, int, int], Diagnostic]

_TIGHT_KEY = re.compile(r"[ \t]*(?:- +)*([A-Za-z_][\w.-]*):([^\s:/\\][^\s]*)[ \t]*(?:#.*)?$")
_WORD = re.compile(r"(?:[^\s,\[\]{}:]|:(?=\S)|\{[^\s{}]*\}|\[[^\s\[\]]*\])+")
_LINE = re.compile(r"[^\s,\[\]{}:](?:[^,\[\]{}:\r\n#]|:(?=\S)|(?<=\S)#)*(?=[ \t]#|[\r\n]|\Z|:\s)")
_ESCAPE = re.compile(
    r"\\(?:[0abtn\tvfre \"/\\N_LP\r\n\x85\u2028\u2029]|x[0-9A-Fa-f]{2}|[uU]((?<=u)[0-9A-Fa-f]{4}|(?<=U)[0-9A-Fa-f]{8}))"
)
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def syntax_error(error: yaml.YAMLError, places: Places) -> Diagnostic:
    """The diagnostic of what PyYAML raised: where it is, what is wrong, what to do."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return _fault(places, 0, 1, "this is not valid YAML", "check the indentation and quote special characters")
    problem = error.problem_mark.index
    context = error.context_mark.index if error.context_mark else problem
    said = f"{error.context or ''}|{error.problem or ''}"
    explain = next((explain for words, explain in _EXPLAIN if any(word in said for word in words)), _other)
    return explain(places, context, min(problem, max(len(places.text) - 1, 0)))


def too_deep_for_parser(error: yaml.YAMLError) -> int | None:
    """Where the C parser, which looks far ahead, met its own limit of 1,000 levels; None for another error."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark and "nesting depth" in (error.problem or ""):
        return error.problem_mark.index
    return None


def unprintable(character: str, place: Range) -> Diagnostic:
    """The diagnostic of a character that YAML does not allow."""
    message = f"the character U+{ord(character):04X} is not allowed in YAML"
    return fault(SYNTAX_ERROR, message, "remove it; it is often invisible in an editor", place=place)


def quote_fix(places: Places, start: int, end: int) -> Fix:
    """Put the text between two offsets in single quotes."""
    text = places.text[start:end].replace("'", "''")
    return Fix("quote it", safe=True, edits=(Edit(places.range(start, end), f"'{text}'"),))


def word_end(text: str, start: int) -> int:
    """Where an unquoted value that starts at ``start`` ends: with the line, or the word where the line goes on."""
    value = _LINE.match(text, start) or _WORD.match(text, start)
    return start + len(value.group().rstrip()) if value else start + 1


def _fault(places: Places, start: int, end: int, message: str, remedy: str, *fixes: Fix) -> Diagnostic:
    return fault(SYNTAX_ERROR, message, remedy, place=places.range(start, max(start, end)), fixes=fixes)


def _special(places: Places, start: int, meaning: str) -> Diagnostic:
    """A value that starts with a character that means something else to YAML."""
    end = word_end(places.text, start)
    word = places.text[start:end]
    sign = "a backtick" if word[0] == "`" else f"`{word[0]}`"
    message = f"`{_cut(word)}` starts with {sign}, {meaning}" if len(word) > 1 else f"{sign} stands alone, {meaning}"
    fix = quote_fix(places, start, end)
    return _fault(places, start, end, message, f"quote it: {fix.edits[0].text}", fix)


def _alias(places: Places, context: int, _: int) -> Diagnostic:
    return _special(places, context, "which YAML reads as an alias")


def _anchor(places: Places, context: int, _: int) -> Diagnostic:
    return _special(places, context, "which YAML reads as an anchor")


def _tag(places: Places, context: int, _: int) -> Diagnostic:
    return _special(places, context, "which YAML reads as a tag")


def _block_scalar(places: Places, context: int, problem: int) -> Diagnostic:
    if places.text[problem : problem + 1] == "\t":
        return _tab(places, problem)
    return _special(places, context, "which YAML reads as the start of a block of text")


def _start_of_token(places: Places, _: int, problem: int) -> Diagnostic:
    if places.text[problem : problem + 1] == "\t":
        return _tab(places, problem)
    return _special(places, problem, "which YAML reserves")


def _tab(places: Places, problem: int) -> Diagnostic:
    return _fault(places, problem, problem + 1, "a tab stands in the indentation", "indent with spaces")


def _colon(places: Places, _: int, problem: int) -> Diagnostic:
    """A second ``: `` where a value has begun: a key too deep, or a text with a colon in it."""
    text = places.text
    line_start = places.line_start(problem)
    if tight := _tight_key_above(places, line_start):
        return tight
    before = text[line_start:problem]
    key = before.strip().removeprefix("- ").strip()
    if ": " in before or ":\t" in before:
        remedy = "put what follows on its own, deeper line; quote a text that holds `: `"
        return _fault(places, problem, problem + 1, "a second `:` stands on the line of a `key: value`", remedy)
    start = problem - len(before.lstrip())
    message = f"`{key}:` is indented as part of the line above, which is no mapping"
    return _fault(places, start, problem, message, "align it with the keys it belongs to")


def _missing_colon(places: Places, context: int, _: int) -> Diagnostic:
    line_start = places.line_start(context)
    if tight := _tight_key(places, line_start):
        return tight
    word = places.line(context)[context - line_start :].split(" #")[0].rstrip()
    message = f"`{_cut(word)}` stands where a `key: value` is expected"
    return _fault(places, context, context + len(word), message, "add `: ` and the value, or indent it under its key")


def _tight_key_above(places: Places, line_start: int) -> Diagnostic | None:
    """A ``key:value`` just above this line, which made both lines one text."""
    found = None
    while line_start:
        line_start = places.line_start(line_start - 1)
        tight = _tight_key(places, line_start)
        if tight is None:
            break
        found = tight
    return found


def _tight_key(places: Places, line_start: int) -> Diagnostic | None:
    tight = _TIGHT_KEY.match(places.line(line_start))
    if not tight:
        return None
    start, end = line_start + tight.start(1), line_start + tight.end(2)
    colon = line_start + tight.end(1) + 1
    fix = Fix("add a space after the colon", safe=True, edits=(Edit(places.range(colon, colon), " "),))
    message = f"a space is missing after the colon of `{_cut(places.text[start:end])}`"
    return _fault(places, start, end, message, f"write `{tight[1]}: {_cut(tight[2])}`", fix)


def missing_space(text: str) -> Diagnostic | None:
    """The fault of a text that starts with ``key:value``, for a document that is one text by it."""
    places = Places(text)
    return _tight_key(places, len(text) - len(text.lstrip()))


def _flow(places: Places, context: int, problem: int) -> Diagnostic:
    opening = places.text[context]
    closing = {"[": "]", "{": "}"}.get(opening, "]")
    found = places.text[problem : problem + 1]
    same_line = places.line_start(context) == places.line_start(problem)
    if found in ("]", "}"):
        message = f"`{found}` closes a `{opening}`, which ends with `{closing}`"
        return _fault(places, problem, problem + 1, message, f"write `{closing}`")
    if same_line and not found.isspace():
        message = f"a comma or `{closing}` is missing before `{found}`"
        return _fault(
            places, problem, problem + 1, message, "separate items by `, `; quote a text with special characters"
        )
    return _fault(places, context, context + 1, f"the `{opening}` is never closed", f"add the `{closing}`")


def _quote(places: Places, context: int, _: int) -> Diagnostic:
    quote = places.text[context]
    return _fault(places, context, context + 1, f"the quote `{quote}` is never closed", f"add the closing `{quote}`")


def _escape(places: Places, context: int, _: int) -> Diagnostic:
    text, start = places.text, context + 1
    while (start := text.find("\\", start)) >= 0 and (known := _ESCAPE.match(text, start)):
        start = known.end()
    start = max(start, context)
    quoted = _DOUBLE_QUOTED.match(text, context)
    fixes: tuple[Fix, ...] = ()
    if quoted and not re.search(r"['\r\n]", quoted.group()) and not _ESCAPE.search(quoted.group()):
        edit = Edit(places.range(*quoted.span()), f"'{quoted.group()[1:-1]}'")
        fixes = (Fix("use single quotes", safe=True, edits=(edit,)),)
    message = f"`{text[start : start + 2]}` is no escape that double quotes know"
    remedy = "use single quotes, which take a backslash as it is"
    return _fault(places, start, start + 2, message, remedy, *fixes)


def _no_character(places: Places, context: int, _: int) -> Diagnostic:
    """An escape of half a surrogate pair, or of a number that Unicode does not have."""
    escape = next(e for e in _ESCAPE.finditer(places.text, context) if e.group(1) and _is_no_character(int(e[1], 16)))
    message = f"`{escape.group()}` is no character"
    return _fault(places, *escape.span(), message, "write the character itself")


def _is_no_character(code: int) -> bool:
    return 0xD800 <= code <= 0xDFFF or code > 0x10FFFF


def _item_on_key_line(places: Places, _: int, problem: int) -> Diagnostic:
    message = "a list item `-` stands on the line of its key"
    return _fault(places, problem, problem + 1, message, "start the list on the next line, or write `[...]`")


def _misplaced(places: Places, context: int, problem: int) -> Diagnostic:
    """Something complete is followed by what fits no open level."""
    text, line_start = places.text, places.line_start(problem)
    found = text[problem : problem + 1]
    if text[line_start:problem].strip():
        message = f"nothing can follow the end of the value, but `{_cut(text[problem : word_end(text, problem)])}` does"
        remedy = "quote the whole value, or put a new key on its own line"
        return _fault(places, problem, word_end(text, problem), message, remedy)
    end = problem + len(places.line(problem)[problem - line_start :].split(" #")[0].rstrip())
    if found == "-" and text[problem + 1 : problem + 2].isspace():
        return _fault(places, problem, end, "a list item stands among keys", "indent it under the key it belongs to")
    if text[context : context + 1] == "-" and places.position(context).column == places.position(problem).column:
        message = f"`{_cut(text[problem:end])}` stands among the items of a list"
        return _fault(places, problem, end, message, "start it with `- `, or indent it less than the list")
    message = f"the indentation of `{_cut(text[problem:end])}` fits no line above"
    return _fault(places, problem, end, message, "align it with the lines of its level")


def _no_content(places: Places, _: int, problem: int) -> Diagnostic:
    found = places.text[problem : problem + 1]
    if found.isspace() or not found:
        end = len(places.text[:problem].rstrip())
        remedy = "add the value, and close the brackets that are open"
        return _fault(places, max(end - 1, 0), end, "the text ends where a value is expected", remedy)
    message = f"`{found}` stands where a value is expected"
    return _fault(places, problem, problem + 1, message, "remove it, or quote the whole value")


def _directive(places: Places, context: int, problem: int) -> Diagnostic:
    start = places.line_start(problem)
    while start and places.text[start] != "%":
        start = places.line_start(start - 1)
    if places.text[start : start + 1] != "%":
        return _misplaced(places, context, problem)
    line = places.line(start)
    message = f"`{_cut(line)}` starts with `%`, which YAML reads as a directive"
    return _fault(places, start, start + len(line.rstrip()), message, "remove the line, or quote it if it is a value")


def _other(places: Places, _: int, problem: int) -> Diagnostic:
    return _fault(
        places, problem, problem + 1, "the text is not valid YAML here", "check the indentation and quotes above"
    )


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


_EXPLAIN: tuple[tuple[tuple[str, ...], _Explain], ...] = (
    (("scanning a tag", "parsing a tag", "tag handle"), _tag),
    (("scanning an alias",), _alias),
    (("scanning an anchor",), _anchor),
    (("invalid Unicode character escape",), _no_character),
    (("escape",), _escape),
    (("directive", "document start", "incompatible YAML"), _directive),
    (("cannot start any token", "tab character that violates"), _start_of_token),
    (("block scalar",), _block_scalar),
    (("mapping values are not allowed",), _colon),
    (("could not find expected ':'",), _missing_colon),
    (("',' or",), _flow),
    (("quoted scalar",), _quote),
    (("sequence entries",), _item_on_key_line),
    (("expected key", "block end", "'-' indicator"), _misplaced),
    (("node content",), _no_content),
)
