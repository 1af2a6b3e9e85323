"""YAML as a tree of nodes with their places; nothing is constructed from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from lora_spec.diagnostics import Diagnostic
from lora_spec.source.document import Node, Scalar, Style
from lora_spec.source.faults import BAD_ALIAS, EMPTY_DOCUMENT, SEVERAL_DOCUMENTS, SYNTAX_ERROR, UnreadableError, fault
from lora_spec.source.places import Places
from lora_spec.source.tree import Built, TreeBuilder
from lora_spec.source.yaml_events import FASTEST, UNPRINTABLE, Loader, PureLoader, events, span
from lora_spec.source.yaml_repairs import LARGEST_REREAD, Repair, add_repair, masked, repaired

_STYLES: dict[str | None, Style] = {"'": Style.QUOTED, '"': Style.QUOTED, "|": Style.BLOCK, ">": Style.BLOCK}
_TAGS = ("!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!merge")
_CORE = "tag:yaml.org,2002:"
_PROPERTIES = re.compile(r"(?:!<[^>\s]*>|[&!][^\s,\[\]{}]*|\s+(?:#[^\r\n]*)?)*")
_PREAMBLE = re.compile(r"(?:[ \t]*(?:#[^\r\n]*|---[ \t]*|%[^\r\n]*)?(?:\r\n|\n|\r))*(?:[ \t]*#[^\r\n]*)?")
_COMMENT = re.compile(r"^[ \t]*#[ \t]*([^\r\n]*?)[ \t]*$", re.MULTILINE)


def read_yaml(text: str, loader: Loader = FASTEST) -> tuple[Node | None, list[Diagnostic]]:
    """The root of a YAML text, None where it cannot be read, and what there is to say about it.

    Args:
        text: Without a byte order mark.
        loader: One of PyYAML's, for the parser; the result is the same with each.
    """
    places = Places(text)
    if forbidden := UNPRINTABLE.search(text):
        from lora_spec.source.yaml_errors import unprintable  # start-up time: most files have no error

        return None, [unprintable(forbidden.group(), places.range(*forbidden.span()))]
    root, faults = _read(places, loader)
    if root is None and loader is not PureLoader and len(text) <= LARGEST_REREAD:
        return _read(places, PureLoader)
    return root, faults


def _read(places: Places, loader: Loader) -> tuple[Node | None, list[Diagnostic]]:
    text = places.text
    repairs: dict[int, Repair] = {}
    faults: list[Diagnostic] = []
    while True:
        reader = _Reader(places, repairs)
        try:
            reader.read(events(masked(text, repairs), loader))
        except yaml.YAMLError as error:
            from lora_spec.source.yaml_errors import syntax_error, too_deep_for_parser

            if limit := too_deep_for_parser(error):
                text = text[:limit]
                continue
            faults.append(syntax_error(error, places))
            if add_repair(repairs, faults[-1], places):
                continue
            return None, faults
        except UnreadableError as error:
            return None, [*faults, *reader.tree.diagnostics, error.diagnostic]
        return reader.tree.root, [*faults, *reader.tree.diagnostics]


def leading_comments(text: str) -> tuple[str, ...]:
    """The comment lines above the first key, without the ``#`` and outer blanks."""
    preamble = _PREAMBLE.match(text)
    lines = (preamble.group() if preamble else "").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(_COMMENT.findall(lines))


class _Reader:
    """Feeds parse events into a tree."""

    def __init__(self, places: Places, repairs: dict[int, Repair]) -> None:
        self.tree = TreeBuilder(places)
        self._text = places.text
        self._places = places
        self._repairs = repairs
        self._anchors: dict[str, Built | None] = {}
        self._open_anchors: list[str | None] = []

    def read(self, stream: Iterator[yaml.Event]) -> None:
        """Take every event of the first document."""
        documents = 0
        for event in stream:
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents == 2:
                    self.tree.diagnostics.append(self._second_document(event))
                    return
        if not documents or _is_empty(self.tree.root):
            raise UnreadableError(_empty())

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        start, end = span(event)
        style = _STYLES.get(event.style, Style.PLAIN)
        if event.anchor or event.tag:
            content = end if style is Style.PLAIN and not event.value else self._after_properties(start)
            self._check_tag(event.tag, start, content)
            start = content
        elif start == end:
            start = end = len(self._text[:start].rstrip())
        if style is Style.BLOCK:
            end = start + len(self._text[start:end].rstrip())
        place = self._places.range(start, end)
        scalar = Scalar(event.value, self._text[start:end], style, place, _short(event.tag))
        if start in self._repairs:
            scalar = repaired(scalar, self._repairs[start])
        self._anchor(event, start)
        self.tree.scalar(scalar, start, end)
        if event.anchor:
            self._anchors[event.anchor] = Built(scalar)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        start, end = span(event)
        if event.anchor or event.tag:
            content = self._content(event, end)
            self._check_tag(event.tag, start, content)
            start = content
        self._anchor(event, start)
        self._open_anchors.append(event.anchor)
        self.tree.open(start, is_mapping=isinstance(event, yaml.MappingStartEvent), flow=bool(event.flow_style))

    def _end(self, event: yaml.CollectionEndEvent) -> None:
        start, end = span(event)
        built = self.tree.close(end if end > start else None)
        anchor = self._open_anchors.pop()
        if anchor:
            self._anchors[anchor] = built

    def _alias(self, event: yaml.AliasEvent) -> None:
        start, end = span(event)
        name = event.anchor or ""
        target = self._anchors.get(name)
        if target:
            self.tree.alias(name, target, start, end)
            return
        self.tree.diagnostics.append(self._bad_alias(name, start, end))
        raw = self._text[start:end]
        self.tree.scalar(Scalar(raw, raw, Style.QUOTED, self._places.range(start, end)), start, end)

    def _anchor(self, event: yaml.NodeEvent, start: int) -> None:
        """Take note of an anchor; until its value has ended, an alias of it is a cycle."""
        if not event.anchor:
            return
        if event.anchor in self._anchors:
            message = f"the anchor `&{event.anchor}` is set twice"
            place = self._places.range(span(event)[0], start)
            remedy = "give each its own name; PyYAML refuses the file"
            self.tree.diagnostics.append(fault(BAD_ALIAS, message, remedy, path=self.tree.path(), place=place))
        self._anchors[event.anchor] = None

    def _check_tag(self, tag: str | None, start: int, end: int) -> None:
        if tag is None or _short(tag) in _TAGS:
            return
        end = start + len(self._text[start:end].rstrip())
        message = f"the tag `{_short(tag)}` is none that a trainer's YAML reader knows"
        place = self._places.range(start, end)
        found = fault(
            SYNTAX_ERROR, message, "remove it, and write the value itself", path=self.tree.path(), place=place
        )
        self.tree.diagnostics.append(found)

    def _content(self, event: yaml.CollectionStartEvent, end: int) -> int:
        """Where a list or mapping with an anchor or tag itself starts; ``end`` is that of its first token."""
        if event.flow_style:
            return end - 1
        indentless = isinstance(event, yaml.SequenceStartEvent) and self._text[end : end + 1] != "-"
        return end - 1 if indentless else end

    def _after_properties(self, start: int) -> int:
        properties = _PROPERTIES.match(self._text, start)
        return properties.end() if properties else start

    def _bad_alias(self, name: str, start: int, end: int) -> Diagnostic:
        path, place = self.tree.path(), self._places.range(start, end)
        if name in self._anchors:
            message = f"`*{name}` stands inside the value that `&{name}` marks, so it would repeat itself without end"
            return fault(BAD_ALIAS, message, "remove it, or move the anchor", path=path, place=place)
        message = f"`*{name}` repeats the value marked `&{name}`, and nothing is marked so"
        from lora_spec.source.yaml_errors import quote_fix, word_end

        fixes = (quote_fix(self._places, start, word_end(self._text, start)),)
        return fault(
            BAD_ALIAS,
            message,
            f"mark the value, or, if this is a pattern, quote it: '*{name}'",
            path=path,
            place=place,
            fixes=fixes,
        )

    def _second_document(self, event: yaml.DocumentStartEvent) -> Diagnostic:
        start, _ = span(event)
        first = "a second document starts here, and a config is one document per file"
        remedy = "remove the `---`, or put the second document into its own file"
        return fault(SEVERAL_DOCUMENTS, first, remedy, place=self._places.range(start, start + 3))


def _is_empty(root: Node | None) -> bool:
    return root is None or (isinstance(root, Scalar) and root.style is Style.PLAIN and not root.raw and not root.tag)


def _empty() -> Diagnostic:
    remedy = "start with `base_model:` and `lora:`"
    return fault(EMPTY_DOCUMENT, "the document is empty", remedy)


def _short(tag: str | None) -> str | None:
    return "!!" + tag[len(_CORE) :] if tag and tag.startswith(_CORE) else tag
