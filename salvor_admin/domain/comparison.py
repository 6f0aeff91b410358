"""A refused report beside what was asked: field by field, with the rule each one stands under."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from salvor_admin.domain import canonical, schemas
from salvor_admin.domain.client_tools import ABSENT, ClientTool, required_fields
from salvor_admin.domain.strict_json import Json

MOST_ROWS: Final = 100


class Standing(StrEnum):
    DIFFERS = "differs"
    EQUAL = "equal"
    MISSING = "missing"
    UNFIT = "unfit"
    FITS = "fits"
    UNDECLARED = "undeclared"
    UNSURE = "unsure"
    """Its rule points elsewhere in the schema, so the field alone cannot be judged."""


@dataclass(frozen=True, slots=True)
class Row:
    """One field. `asked` and `reported` are canonical texts; None: the field is not there."""

    field: str
    asked: str | None
    reported: str | None
    rule: str
    standing: Standing
    why: str = ""


def rows(tool: ClientTool, *, input: Json, output: Json) -> list[Row]:
    """Every field that was pinned, declared or reported; pinned ones first. No object: no rows."""
    if not isinstance(output, dict):
        return []
    declared = _properties(tool.output_schema)
    required = required_fields(tool.output_schema)
    asked = input if isinstance(input, dict) else {}
    rest = sorted({*declared, *required, *output} - {*tool.require_equal})
    fields = [*dict.fromkeys(tool.require_equal), *rest][:MOST_ROWS]
    return [_row(field, tool, asked, output, declared, field in required) for field in fields]


def _row(
    field: str,
    tool: ClientTool,
    asked: dict[str, Json],
    output: dict[str, Json],
    declared: dict[str, Any],
    needed: bool,
) -> Row:
    is_pinned = field in tool.require_equal
    schema = declared.get(field, ABSENT)
    words = [word for word, holds in (("pinned", is_pinned), ("required", needed and not is_pinned)) if holds]
    words += _type_words(schema)
    if field not in declared and not needed and not is_pinned:
        words.append("not declared")
    rule = ", ".join(words)
    here = canonical.text(asked[field]) if field in asked else None
    if field not in output:
        standing = Standing.MISSING if needed or is_pinned else Standing.FITS
        return Row(field, here, None, rule, standing)
    there = canonical.text(output[field])
    if is_pinned and (field not in asked or not canonical.equal(asked[field], output[field])):
        return Row(field, here, there, rule, Standing.DIFFERS)
    if schema is not ABSENT and '"$' in canonical.text(schema):
        return Row(field, here, there, rule, Standing.UNSURE)
    violation = schemas.violation(schema, output[field]) if schema is not ABSENT else None
    if violation is not None:
        standing = Standing.UNSURE if violation.could_not_check else Standing.UNFIT
        return Row(field, here, there, rule, standing, violation.reason)
    if is_pinned:
        return Row(field, here, there, rule, Standing.EQUAL)
    return Row(field, here, there, rule, Standing.FITS if field in declared or needed else Standing.UNDECLARED)


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _type_words(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    if isinstance(schema.get("enum"), list):
        shown = [canonical.text(value) for value in schema["enum"][:4]]
        return ["one of " + ", ".join(shown) + ("…" if len(schema["enum"]) > 4 else "")]
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else []
