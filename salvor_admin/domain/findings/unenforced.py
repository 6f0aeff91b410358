"""What of a schema a Salvor server's own small checker takes no notice of (contract 10.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from salvor_admin.domain.strict_json import pointer


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_BOUNDS: Final = frozenset({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"})
_UNDERSTOOD: Final = _COUNTS | _BOUNDS | {"type", "enum", "required", "properties", "items"}
#: Words and addresses, which limit nothing; `$defs` counts where a `$ref` uses it, and that is told there.
_LIMIT_NOTHING: Final = _set(
    "title description $comment examples default deprecated readOnly writeOnly $schema $id id $anchor $dynamicAnchor "
    "$recursiveAnchor $vocabulary $defs definitions contentEncoding contentMediaType contentSchema"
)
_ENFORCED_HERE: Final = _set(
    "pattern format const additionalProperties patternProperties prefixItems minProperties maxProperties oneOf anyOf allOf "
    "not if $ref $dynamicRef $recursiveRef multipleOf uniqueItems contains propertyNames dependentRequired "
    "dependentSchemas dependencies unevaluatedItems unevaluatedProperties additionalItems"
)


def ignored(schema: Any, place: str) -> Iterator[tuple[str, str]]:
    """Each place where the schema limits something that only we check, and what stands there."""
    if schema is False:
        yield place, "“nothing may stand here”"
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        here = pointer(place, keyword)
        if keyword in _ENFORCED_HERE:
            if _limits(keyword, value, schema):
                yield here, f"`{keyword}`"
        elif (keyword in _COUNTS and not _is_count(value)) or (keyword in _BOUNDS and isinstance(value, bool)):
            if value is not False:
                yield here, f"`{keyword}` in this spelling"
        elif keyword == "items" and isinstance(value, list):
            yield here, "`items` as a list"
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, inner in properties.items():
            yield from ignored(inner, pointer(f"{place}/properties", name))
    yield from ignored(schema.get("items"), f"{place}/items")


def _limits(keyword: str, value: Any, schema: dict[str, Any]) -> bool:
    if keyword == "uniqueItems":
        return value is True
    if keyword == "minProperties":
        return bool(value != 0)
    if keyword == "if":
        return "then" in schema or "else" in schema
    if keyword == "not":
        return value is not False
    if keyword in {"const", "format", "pattern", "multipleOf", "maxProperties"}:
        return True
    # A schema that takes anything, and an empty list of conditions, limit nothing.
    return bool(value is not True and value != {} and value != [])


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def accepts_any_object(schema: Any) -> bool:
    """Whether every object passes: no keyword limits one, and no property that is named is limited or needed."""
    if not isinstance(schema, dict):
        return schema is True
    for keyword, value in schema.items():
        if keyword in _LIMIT_NOTHING:
            continue
        if keyword == "type":
            if "object" not in (value if isinstance(value, list) else [value]):
                return False
        elif keyword == "required":
            if value:
                return False
        elif keyword == "properties":
            if not isinstance(value, dict) or not all(_accepts_anything(inner) for inner in value.values()):
                return False
        elif keyword == "enum" or (keyword in _ENFORCED_HERE and _limits(keyword, value, schema)):
            return False
    return True


def _accepts_anything(schema: Any) -> bool:
    return schema is True or (isinstance(schema, dict) and schema.keys() <= _LIMIT_NOTHING)
