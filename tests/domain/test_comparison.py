"""A report beside its call: every field, its rule, and how it stands."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.comparison import Standing, rows
from salvor_admin.domain.effects import Effect

TOOL = ClientTool(
    "refund_card",
    Effect.WRITE,
    {"type": "object"},
    {
        "type": "object",
        "required": ["amount_cents", "refund_id"],
        "properties": {
            "amount_cents": {"type": "integer"},
            "refund_id": {"type": "string"},
            "status": {"enum": ["succeeded", "pending"]},
            "other": {"$ref": "#/$defs/other"},
        },
    },
    True,
    ("amount_cents",),
)


@pytest.mark.parametrize(
    ("field", "reported", "standing"),
    [
        ("amount_cents", 5000, Standing.EQUAL),
        ("amount_cents", 4800, Standing.DIFFERS),
        ("amount_cents", 5000.0, Standing.DIFFERS),
        ("refund_id", "re_1", Standing.FITS),
        ("refund_id", 7, Standing.UNFIT),
        ("status", "unheard of", Standing.UNFIT),
        ("extra", 1, Standing.UNDECLARED),
        ("other", 1, Standing.UNSURE),
    ],
)
def test_a_field_stands_by_its_rule(field: str, reported: Any, standing: Standing) -> None:
    found = {row.field: row for row in rows(TOOL, input={"amount_cents": 5000}, output={field: reported})}
    assert found[field].standing is standing


def test_a_required_field_that_was_not_reported_is_missing() -> None:
    found = {row.field: row for row in rows(TOOL, input={"amount_cents": 5000}, output={"amount_cents": 5000})}
    assert (found["refund_id"].standing, found["refund_id"].reported) == (Standing.MISSING, None)


def test_pinned_fields_come_first_with_both_spellings() -> None:
    first = rows(TOOL, input={"amount_cents": 5000}, output={"a": 1, "amount_cents": 48.0})[0]
    assert (first.field, first.asked, first.reported) == ("amount_cents", "5000", "48.0")


def test_what_is_no_object_has_no_fields() -> None:
    assert rows(TOOL, input={}, output=[1]) == []
