"""The entry points: a file, a text or a Python value as a Document."""

from __future__ import annotations

import errno
import os
import select
import stat
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from lora_spec.diagnostics import Diagnostic
from lora_spec.source.decoding import check_text, decode, too_large
from lora_spec.source.document import Document, Mapping, Node, Scalar, first_key_range
from lora_spec.source.faults import NOT_A_MAPPING, UnreadableError, fault
from lora_spec.source.limits import MAX_BYTES

_YAML_SUFFIXES = (".yaml", ".yml")
_PIPE_WAIT_SECONDS = 10.0


def read_path(path: str | Path) -> Document:
    """Read a file: JSON by its ``.json`` suffix, else YAML.

    At most one byte over the size limit is read, so that no file, pipe or device costs more.

    Args:
        path: Of a file; where it is a pipe, what its writer sends within seconds.

    Raises:
        OSError: The file cannot be opened or read.
    """
    name, folder = str(path), Path(path).parent
    try:
        text = decode(_read_limited(path))
    except UnreadableError as error:
        return Document(None, name, folder, diagnostics=(error.diagnostic,), format=_format(name))
    return _document(text, name, folder)


def read_text(text: str | bytes, *, name: str | None = None, folder: Path | None = None) -> Document:
    """Read a text, such as standard input.

    Args:
        text: The text, or its bytes.
        name: The file that it stands for; by its suffix the text is JSON or YAML. Without one of these suffixes a
            text that starts with ``{`` and is JSON is read as such, any other as YAML.
        folder: Where relative paths start; by default the folder of ``name``.
    """
    start = folder if folder is not None else Path(name or "").parent
    try:
        content = decode(text) if isinstance(text, bytes) else check_text(text)
    except UnreadableError as error:
        return Document(None, name, start, diagnostics=(error.diagnostic,), format=_format(name or ""))
    return _document(content, name, start)


def read_value(value: object) -> Document:
    """Read a Python value: mappings, sequences, sets and scalars, or an OmegaConf container.

    OmegaConf's interpolations are resolved where they can be. What a file could not hold is a diagnostic.
    """
    from lora_spec.source.python_values import read_python

    root, diagnostics = read_python(value)
    return _finished(Document(root, format="value", diagnostics=tuple(diagnostics)))


def _document(text: str, name: str | None, folder: Path) -> Document:
    suffix = Path(name or "").suffix.lower()
    is_json = suffix == ".json" or (suffix not in _YAML_SUFFIXES and _looks_like_json(text))
    read = _read_as_json if is_json else _read_as_yaml
    root, diagnostics, comments = read(text)
    in_order = tuple(sorted(diagnostics, key=_place))
    return _finished(Document(root, name, folder, text, "json" if is_json else "yaml", in_order, comments))


_Read: TypeAlias = tuple[Node | None, list[Diagnostic], tuple[str, ...]]


def _read_as_json(text: str) -> _Read:
    from lora_spec.source.json_reader import read_json  # each reader is imported when its format comes: start-up time

    return (*read_json(text), ())


def _read_as_yaml(text: str) -> _Read:
    from lora_spec.source.yaml_reader import leading_comments, read_yaml

    return (*read_yaml(text), leading_comments(text))


def _finished(document: Document) -> Document:
    """The document, its root None with a reason where it is not a mapping."""
    root = document.root
    if root is None or isinstance(root, Mapping):
        return document
    found = _not_a_mapping(root, document)
    return replace(document, root=None, diagnostics=(*document.diagnostics, found))


def _not_a_mapping(root: Node, document: Document) -> Diagnostic:
    if isinstance(root, Scalar) and document.format == "yaml":
        from lora_spec.source.yaml_errors import missing_space

        if tight := missing_space(document.text):
            return tight
    kind = "one text" if isinstance(root, Scalar) else "a list"
    kind = "a single value" if kind == "one text" and document.format == "value" else kind
    message = f"the document is {kind}, not a mapping of keys to values"
    remedy = "a config has keys such as `base_model: ...`"
    return fault(NOT_A_MAPPING, message, remedy, place=first_key_range(root))


def _format(name: str) -> str:
    return "json" if name.lower().endswith(".json") else "yaml"


def _looks_like_json(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    return _read_as_json(text)[0] is not None


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    start = diagnostic.range.start if diagnostic.range else None
    return (start.line, start.column) if start else (0, 0)


def _read_limited(path: str | Path) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: The file cannot be opened or read; a pipe that nothing comes from times out.
        UnreadableError: There are more than the limit.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_size > MAX_BYTES:
            raise UnreadableError(too_large(status.st_size))
        data = bytearray()
        while len(data) <= MAX_BYTES:
            piece = file.read(MAX_BYTES + 1 - len(data))
            if piece:
                data += piece
            elif piece is None:
                _wait(descriptor, path)
            else:
                break
    return bytes(data)


def _wait(descriptor: int, path: str | Path) -> None:
    """Wait until a pipe has more."""
    ready, _, _ = select.select([descriptor], [], [], _PIPE_WAIT_SECONDS)
    if not ready:
        raise TimeoutError(f"nothing came from it in {_PIPE_WAIT_SECONDS:.0f} seconds", str(path))
