"""From the schema that pydantic emits to one that editors do well with.

Each step answers something that was seen in yaml-language-server or in VS Code's JSON service: references and defaults
hide a field's own text, a null branch and a union without types give messages that do not say what was expected.
"""

from __future__ import annotations

from typing import Any

from lora_spec.base import StrictModel
from lora_spec.spec.documentation import field_documentation, model_documentation, models_of
from lora_spec.spec.schema_forms import Schema, in_every_form
from lora_spec.spec.schema_suggestions import snippets
from lora_spec.spec.wording import yaml_text


def shaped_schema(model: type[StrictModel]) -> Schema:
    """The schema of ``model`` and of all it holds, without references."""
    emitted = model.model_json_schema()
    parts = emitted.pop("$defs", {})
    parts[model.__name__] = emitted
    for part in models_of(model):
        _document(parts[part.__name__], part)
    return _shaped(_inlined(emitted, parts), "")


def _document(part: Schema, model: type[StrictModel]) -> None:
    part["description"] = model_documentation(model).split("\n\n")[0]
    for name, text in field_documentation(model).items():
        part["properties"][name]["description"] = text


def _inlined(node: Any, parts: dict[str, Schema]) -> Any:
    """``node`` with each reference replaced by what it names; the words beside a reference win."""
    if isinstance(node, list):
        return [_inlined(item, parts) for item in node]
    if not isinstance(node, dict):
        return node
    here = {key: _inlined(value, parts) for key, value in node.items() if key != "$ref"}
    if "$ref" not in node:
        return here
    return {**_inlined(parts[node["$ref"].rsplit("/", 1)[-1]], parts), **here}


def _shaped(node: Schema, path: str) -> Schema:
    """The schema of what stands at ``path``, and of all below it."""
    node = in_every_form(_without_null(node), path)
    offered = snippets(path, node)
    node = _described(_titled(node, path))
    if "enum" in node or "const" in node:
        node.pop("type", None)  # it would give a wrong value two messages
    if offered:
        node["defaultSnippets"] = offered
    return _with_parts(node, path)


def _with_parts(node: Schema, path: str) -> Schema:
    if "properties" in node:
        node["properties"] = {name: _setting(node, name, path) for name in node["properties"]}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _shaped(node[key], f"{path}[]")
    if "anyOf" in node:
        node["anyOf"] = [_branch(branch, path) for branch in node["anyOf"]]
    if "allOf" in node:
        node["allOf"] = [{**case, "then": _with_parts(case["then"], path)} for case in node["allOf"]]
    return node


def _setting(parent: Schema, name: str, path: str) -> Schema:
    node: Schema = parent["properties"][name]
    if not node:
        return node
    setting = _shaped(node, f"{path}.{name}" if path else name)
    return setting if name in parent.get("required", ()) else _optional(setting)


def _branch(branch: Schema, path: str) -> Schema:
    """A branch of the union at ``path``; its title tells it from the others."""
    described = _described({key: value for key, value in branch.items() if key != "title"})
    return {**_with_parts(described, path), "title": f"{path} ({branch['title']})"}


def _without_null(node: Schema) -> Schema:
    """``node`` less the null branch by which pydantic says that a field may be absent."""
    branches = [branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) != 1:
        return node
    return {**branches[0], **{key: value for key, value in node.items() if key != "anyOf"}}


def _optional(node: Schema) -> Schema:
    """Null is as good as absent."""
    if "enum" in node:
        return {**node, "enum": [*node["enum"], None]}
    if "anyOf" in node:
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    return {**node, "type": [node["type"], "null"]}


def _titled(node: Schema, path: str) -> Schema:
    """The title heads the hover, and of an object it is the word in `Expected "…"`."""
    if not path:
        return {**node, "title": "lora-spec"}
    return {**node, "title": f"{path} settings" if node.get("type") == "object" else path}


_BOUNDS = (
    ("exclusiveMinimum", "above"),
    ("minimum", "at least"),
    ("exclusiveMaximum", "below"),
    ("maximum", "at most"),
)


def _described(node: Schema) -> Schema:
    """The documentation, default and range in words, in markdown and plain; the default itself goes.

    A ``default`` would be inserted with the key, and editors tell neither it nor the range in the hover.
    """
    facts = [f"{word} {node[key]}" for key, word in _BOUNDS if key in node]
    default = node.pop("default", None)
    if default is not None and not isinstance(default, dict):
        facts.insert(0, f"Default: `{default if isinstance(default, str) else yaml_text(default)}`")
    lines = [text for text in (node.get("description"), " · ".join(facts)) if text]
    if lines:
        node["description"] = "\n\n".join(lines).replace("`", "")
        node["markdownDescription"] = "\n\n".join(lines)
    return node
