"""Closed argument schemas: the first place where one is open (contract 5.5), and narrowing a server's schema (6.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from salvor_admin.domain.strict_json import Json, pointer

_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_ONE_OR_MANY = ("items", "prefixItems", "anyOf", "oneOf", "allOf")
_ONE = ("additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else")
_ENTERED = frozenset((*_NAMED, *_ONE_OR_MANY, *_ONE))


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a schema lets through what nobody declared: a dotted path as agentplane writes it, a pointer, and why."""

    dotted: str
    pointer: str
    why: str


def first_opening(schema: Json, dotted: str, at: str = "") -> Opening | None:
    """The first open place in sorted order, a parent before its children (contract 5.5)."""
    return next(openings(schema, dotted, at), None)


def openings(schema: Json, dotted: str, at: str = "") -> Iterator[Opening]:
    """Every open place in that order, for a reviewer who closes them in one go."""
    if not isinstance(schema, dict):
        return
    why = _open_here(schema)
    if why is not None:
        yield Opening(dotted, at, why)
    for inner, inner_dotted, inner_at in _subschemas(schema, dotted, at):
        yield from openings(inner, inner_dotted, inner_at)


def names_type(schema: dict[str, Any], word: str) -> bool:
    """Whether `type` is this word or lists it."""
    written = schema.get("type")
    return written == word or (isinstance(written, list) and word in written)


def _open_here(schema: dict[str, Any]) -> str | None:
    if "patternProperties" in schema:
        return "uses patternProperties, which admits names nobody declared"
    reference = schema.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        return f"has a $ref to another document ({reference[:200]})"
    is_object = names_type(schema, "object") or (
        "type" not in schema and ("properties" in schema or "additionalProperties" in schema)
    )
    if is_object and schema.get("additionalProperties") is not False:
        return "declares an object without `additionalProperties: false`"
    return None


def _subschemas(schema: dict[str, Any], dotted: str, at: str) -> Iterator[tuple[Json, str, str]]:
    for keyword in sorted(_ENTERED & schema.keys()):
        held = schema[keyword]
        here = pointer(at, keyword)
        if keyword in _NAMED:
            if isinstance(held, dict):
                for name in sorted(held):
                    yield held[name], f"{dotted}.{name}", pointer(here, name)
        elif keyword in _ONE_OR_MANY and isinstance(held, list):
            for index, inner in enumerate(held):
                yield inner, f"{dotted}.{keyword}[{index}]", pointer(here, index)
        elif keyword == "items":
            yield held, f"{dotted}[]", here
        else:
            yield held, f"{dotted}.{keyword}", here


# --- narrowing (contract 6.4) ----------------------------------------------------------------------------------------

_BEYOND_NARROWING = frozenset(
    {
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
        "$dynamicRef",
        "$recursiveRef",
    }
)
_KNOWN_DIALECTS = frozenset(
    dialect + mark
    for dialect in (
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
    )
    for mark in ("", "#")
)


def narrow(schema: Json) -> Json:
    """The schema as agentplane drafts it: closed where it names its properties, otherwise as the server sent it."""
    return _narrow(schema, _narrow_node, drops=lambda narrowed: True)


def narrow_keeping(schema: Json) -> Json:
    """As `narrow`, but nothing the server demanded is lost, and nothing is closed that other members still extend."""
    return _narrow(schema, _narrow_node_keeping, drops=lambda narrowed: not _means_otherwise(narrowed))


def _narrow(
    schema: Json, node: Callable[[dict[str, Any]], dict[str, Any]], *, drops: Callable[[dict[str, Any]], bool]
) -> Json:
    if not isinstance(schema, dict) or composes(schema):
        return schema
    narrowed = node(schema)
    dialect = narrowed.get("$schema")
    if isinstance(dialect, str) and dialect in _KNOWN_DIALECTS and drops(narrowed):
        del narrowed["$schema"]
    return narrowed


def composes(schema: Json) -> bool:
    """Whether a keyword that narrowing does not understand stands at a schema position."""
    if not isinstance(schema, dict):
        return False
    if not _BEYOND_NARROWING.isdisjoint(schema):
        return True
    return any(composes(inner) for inner in _narrowing_positions(schema))


def _narrowing_positions(schema: dict[str, Any]) -> Iterator[Json]:
    for keyword in _NAMED:
        held = schema.get(keyword)
        if isinstance(held, dict):
            yield from held.values()
    for keyword in ("items", "prefixItems", "anyOf"):
        held = schema.get(keyword)
        if isinstance(held, list):
            yield from held
        elif isinstance(held, dict) and keyword == "items":
            yield held
    for keyword in ("additionalProperties", "contains", "propertyNames"):
        yield schema.get(keyword)


def _narrow_node(schema: dict[str, Any]) -> dict[str, Any]:
    node = dict(schema)
    if "$ref" in node and len(node) > 1:
        # As the reference does it: an anyOf that stood beside the $ref is lost.
        node["anyOf"] = [{"$ref": node.pop("$ref")}]
    return _narrow_inside(_closed(node), _narrow_node)


def _narrow_node_keeping(schema: dict[str, Any]) -> dict[str, Any]:
    node = dict(schema)
    if "$ref" in node and len(node) > 1:
        reference = {"$ref": node.pop("$ref")}
        if "anyOf" in node:
            node["allOf"] = [reference, {"anyOf": node.pop("anyOf")}]
        else:
            node["anyOf"] = [reference]
    extended = "properties" in node and any("allOf" in node or _declares(branch) for branch in _branches(node))
    return _narrow_inside(node if extended else _closed(node), _as_is if extended else _narrow_node_keeping)


def _branches(node: dict[str, Any]) -> list[Json]:
    branches: list[Json] = []
    for keyword in ("anyOf", "allOf"):
        held = node.get(keyword)
        branches.extend(held if isinstance(held, list) else ())
    return branches


def _declares(branch: Json) -> bool:
    """Whether a branch may name properties that the node beside it does not."""
    return isinstance(branch, dict) and not branch.keys().isdisjoint(
        {"properties", "$ref", "patternProperties", "anyOf"}
    )


def _as_is(schema: dict[str, Any]) -> dict[str, Any]:
    return schema


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    if names_type(node, "object") and "properties" in node and "additionalProperties" not in node:
        node["additionalProperties"] = False
    if names_type(node, "object") and node.get("additionalProperties") is False and "properties" not in node:
        node["properties"] = {}
        node.setdefault("required", [])
    return node


def _narrow_inside(node: dict[str, Any], narrow_one: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    branch_by = narrow_one
    inside_by = _narrow_node_keeping if narrow_one is _as_is else narrow_one
    for keyword in ("properties", "$defs", "definitions"):
        held = node.get(keyword)
        if isinstance(held, dict):
            node[keyword] = {
                name: inside_by(inner) if isinstance(inner, dict) else inner for name, inner in held.items()
            }
    if isinstance(node.get("items"), dict):
        node["items"] = inside_by(node["items"])
    if isinstance(node.get("anyOf"), list):
        node["anyOf"] = [branch_by(inner) if isinstance(inner, dict) else inner for inner in node["anyOf"]]
    return node


def _means_otherwise(schema: Json) -> bool:
    """Whether a keyword stands somewhere that 2020-12 reads otherwise than the drafts before it."""
    if isinstance(schema, list):
        return any(map(_means_otherwise, schema))
    if not isinstance(schema, dict):
        return False
    if isinstance(schema.get("items"), list) or not schema.keys().isdisjoint({"additionalItems", "dependencies"}):
        return True
    return any(map(_means_otherwise, schema.values()))
