"""Provider rules about the schemas of arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from salvor_admin.domain import canonical, schema_shapes
from salvor_admin.domain.providers import references, schema_walk
from salvor_admin.domain.providers.limits import Limit
from salvor_admin.domain.providers.sightings import Offered, Rule, Sighting, shown
from salvor_admin.domain.schema_shapes import Dialect, SchemaProblem
from salvor_admin.domain.strict_json import Json, pointer

_NUMBER_KEYWORDS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minContains",
        "maxContains",
    }
)


def size_of(schema: Json) -> int:
    """The bytes a schema takes, white space aside."""
    return len(canonical.text(schema).encode("utf-8", "surrogatepass"))


def _schema_too_large(it: Offered, limit: Limit) -> Iterator[Sighting]:
    size = size_of(it.schema)
    if size > limit.value:
        yield Sighting(
            "/parameters",
            f"The schema takes {size} bytes, and the limit is {limit.value}.",
            "Look long lists of values up in the tool instead of listing them.",
        )


def _schema_root_not_object(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if it.members.get("type") != "object":
        yield Sighting(
            "/parameters",
            "The root of the schema does not say type: object.",
            'Write {"type": "object", "properties": {…}} at the root.',
        )


def _schema_root_combined(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for keyword in limit.value:
        if keyword in it.members:
            yield Sighting(
                pointer("/parameters", keyword),
                f"{keyword} may not stand at the root of the schema.",
                "Move it into a property, or say the rule in the description; what is validated stays as declared.",
            )


def _schema_root_without_properties(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if it.members.get("type") == "object" and "properties" not in it.members:
        yield Sighting(
            "/parameters", "The root object lists no properties.", 'Add "properties": {} where there are no arguments.'
        )


def _array_without_items(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for schema, place in schema_walk.subschemas(it.schema):
        if isinstance(schema, dict) and "array" in schema_walk.type_words(schema) and "items" not in schema:
            yield Sighting(f"/parameters{place}", "An array does not describe its items.", "Add items.")


def _schema_malformed(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for schema, place in schema_walk.subschemas(it.schema):
        if isinstance(schema, dict) and isinstance(schema.get("items"), list):
            yield Sighting(
                f"/parameters{place}/items",
                "items is a list, which the 2020-12 dialect calls prefixItems.",
                "Write prefixItems, or one schema for all items.",
            )
        try:
            schema_shapes.judge(schema, Dialect.DRAFT_2020_12, place)
        except SchemaProblem as error:
            yield Sighting(
                f"/parameters{error.problem.place}",
                f"This is no schema of the 2020-12 dialect: {error.problem.why}.",
                "Correct it.",
            )


def _property_key(it: Offered, limit: Limit) -> Iterator[Sighting]:
    declared = it.members.get("properties")
    for name in declared if isinstance(declared, dict) else ():
        if not re.fullmatch(limit.value, name):
            yield Sighting(
                pointer("/parameters/properties", name),
                f"The argument name {shown(name)} ({len(name)} characters) does not match {limit.value}.",
                "Rename the argument, or put it one level further in, where names are not looked at.",
            )


def _integer_out_of_range(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for schema, place in schema_walk.subschemas(it.schema):
        for keyword, value in schema.items() if isinstance(schema, dict) else ():
            whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
            if keyword in _NUMBER_KEYWORDS and whole and not -limit.value - 1 <= value <= limit.value:
                yield Sighting(
                    pointer(f"/parameters{place}", keyword),
                    f"{keyword} {canonical.text(value)} does not fit 32 bits.",
                    "Leave the bound out of what is offered to this provider, or choose a smaller one.",
                )


def _boolean_schema(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for schema, place in schema_walk.subschemas(it.schema):
        keyword = place.rpartition("/")[2]
        if isinstance(schema, bool) and keyword not in ("additionalProperties", "unevaluatedProperties"):
            yield Sighting(
                f"/parameters{place}",
                f"The schema {str(schema).lower()} is sent as it is, and hosts that convert schemas refuse it.",
                "Write {} instead of true." if schema else "Leave the member out, or describe what is allowed.",
            )


def _type_list(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for schema, place in schema_walk.subschemas(it.schema):
        if isinstance(schema, dict) and isinstance(schema.get("type"), list):
            yield Sighting(
                f"/parameters{place}/type",
                "A list of types is sent as it is, and hosts that convert schemas refuse it.",
                "Write anyOf with one type each, null among them.",
            )


def _reference_with_siblings(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for schema, place in schema_walk.subschemas(it.schema):
        if not isinstance(schema, dict) or "$ref" not in schema:
            continue
        beside = [name for name in schema if not name.startswith("$") and name not in limit.value]
        if beside:
            yield Sighting(
                f"/parameters{place}",
                f"{shown(beside[0])} may not stand beside $ref.",
                "Move it into the definition, or write the definition out.",
            )


def _circular_reference(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for reference, place in references.circles(it.schema).items():
        yield Sighting(
            f"/parameters{place}",
            f"The reference {shown(reference)} leads back to itself.",
            "Write the levels out as deep as they are needed.",
        )


def _circular_reference_strict(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if it.verdict is not None and it.verdict.strict:
        yield from _circular_reference(it, limit)


def _reference_leads_nowhere(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for reference, place in references.leading_nowhere(it.schema):
        yield Sighting(
            f"/parameters{place}",
            f"The reference {shown(reference)} selects nothing in this schema; nothing else is ever fetched.",
            "Put the definition under $defs and refer to it there.",
        )


def _max_items_sum(it: Offered, limit: Limit) -> Iterator[Sighting]:
    total = 0
    for schema, _ in schema_walk.subschemas(it.schema):
        most = schema.get("maxItems") if isinstance(schema, dict) else None
        total += most if isinstance(most, int) and not isinstance(most, bool) else 0
    if total >= limit.value:
        yield Sighting(
            "/parameters",
            f"The maxItems of this schema add up to {total}; requests from about {limit.value} on were refused without a reason.",
            "Lower the bounds, or leave them to the tool.",
        )


def _not_strict(it: Offered, limit: Limit) -> Iterator[Sighting]:
    for problem in it.verdict.problems if it.verdict is not None else ():
        yield Sighting(
            f"/parameters{problem.pointer}",
            f"The tool goes out with strict: false, as declared: {problem.sentence}.",
            "Change the schema if the provider shall enforce it; nothing is dropped or closed by itself.",
        )


RULES: dict[str, Rule] = {
    "schema_too_large": _schema_too_large,
    "schema_root_not_object": _schema_root_not_object,
    "schema_root_combined": _schema_root_combined,
    "schema_root_without_properties": _schema_root_without_properties,
    "array_without_items": _array_without_items,
    "schema_malformed": _schema_malformed,
    "property_key": _property_key,
    "integer_out_of_range": _integer_out_of_range,
    "boolean_schema": _boolean_schema,
    "type_list": _type_list,
    "reference_with_siblings": _reference_with_siblings,
    "circular_reference": _circular_reference,
    "circular_reference_strict": _circular_reference_strict,
    "reference_leads_nowhere": _reference_leads_nowhere,
    "max_items_sum": _max_items_sum,
    "not_strict": _not_strict,
}
