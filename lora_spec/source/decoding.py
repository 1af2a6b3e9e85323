"""Bytes as text."""

from __future__ import annotations

import codecs
import re

from lora_spec.diagnostics import Diagnostic
from lora_spec.source.faults import DOCUMENT_TOO_LARGE, NOT_TEXT, UnreadableError, fault
from lora_spec.source.limits import MAX_BYTES

_BOM = "\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")
_BINARY = "this looks like a binary file; name the config instead"


def decode(data: bytes) -> str:
    """The text of ``data`` without a byte order mark: UTF-8, or UTF-16 where its mark says so.

    Raises:
        UnreadableError: The bytes are no text, or too many.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableError(too_large())
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        return _checked(data.decode(encoding))
    except UnicodeDecodeError as error:
        message = f"the file is not {encoding.upper()} text: byte {error.start + 1:,} cannot be decoded"
        raise UnreadableError(fault(NOT_TEXT, message, _BINARY if b"\0" in data else "save it as UTF-8")) from error


def check_text(text: str) -> str:
    """``text`` without a byte order mark.

    Raises:
        UnreadableError: The text is too large, or holds characters that no file can.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise UnreadableError(too_large())
    return _checked(text)


def too_large(size: int | None = None) -> Diagnostic:
    """The diagnostic of a document over the size limit; ``size`` in bytes where known."""
    found = "over" if size is None else f"{size:,} bytes large, over"
    message = f"the document is {found} the {MAX_BYTES:,} bytes (1 MiB) that a config may have"
    return fault(DOCUMENT_TOO_LARGE, message, "name the config itself, not a data or log file")


def _checked(text: str) -> str:
    if "\0" in text:
        raise UnreadableError(fault(NOT_TEXT, "the file is not text: it holds NUL bytes", _BINARY))
    if _SURROGATE.search(text):
        message = "the text holds half of a surrogate pair, which is no character"
        raise UnreadableError(fault(NOT_TEXT, message, "save it as UTF-8"))
    return text.removeprefix(_BOM)
