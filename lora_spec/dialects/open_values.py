"""Values that a document leaves open, such as `${RANK}`: a later step fills them in."""

from __future__ import annotations

from collections.abc import Iterator

from lora_spec.diagnostics import DocumentPath
from lora_spec.source.document import Node, Scalar, walk
from lora_spec.source.scalars import is_open


def open_paths(root: Node | None) -> Iterator[DocumentPath]:
    """The paths of all scalars that are left open."""
    for path, node in walk(root) if root is not None else ():
        if isinstance(node, Scalar) and is_open(node):
            yield path
