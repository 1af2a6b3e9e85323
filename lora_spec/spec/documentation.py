"""What stands under a field is its documentation: read from the source, and only when someone asks.

pydantic can read it too (``use_attribute_docstrings``), but would do so whenever a model is built.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

from lora_spec.base import StrictModel


@cache
def field_documentation(model: type[StrictModel]) -> dict[str, str]:
    """The text under each field of ``model``, inherited fields included, in the order of the fields.

    A tag, such as the ``kind`` of an init, can only be what it is: the class says what that means.
    """
    texts = {
        name: model_documentation(model) for name, field in model.model_fields.items() if _is_tag(field.annotation)
    }
    for base in reversed(model.__mro__):
        if issubclass(base, StrictModel):
            texts |= dict(_texts(_class_node(base)))
    return {name: texts[name] for name in model.model_fields if name in texts}


def model_documentation(model: type[StrictModel]) -> str:
    """The docstring of ``model``, with each paragraph on one line."""
    return _on_lines(model.__doc__ or "")


@cache
def models_of(model: type[StrictModel]) -> tuple[type[StrictModel], ...]:
    """``model`` and every model that its fields can hold, at any depth, each once."""
    found = {model: None}
    for field in model.model_fields.values():
        for below in _models_in(field.annotation):
            found |= dict.fromkeys(models_of(below))
    return tuple(found)


def _models_in(annotation: Any) -> Iterator[type[StrictModel]]:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _is_tag(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


@cache
def _module_tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _class_node(model: type) -> ast.ClassDef:
    node: ast.AST = _module_tree(model.__module__)
    for name in model.__qualname__.split("."):
        node = next(n for n in ast.iter_child_nodes(node) if isinstance(n, ast.ClassDef) and n.name == name)
    assert isinstance(node, ast.ClassDef)
    return node


def _texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Each annotated name that is followed by a bare string, with that string."""
    for statement, following in zip(node.body, node.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, _on_lines(text)


def _on_lines(text: str) -> str:
    """``text`` less its indentation, with each paragraph on one line."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))
