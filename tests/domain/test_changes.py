"""What a change of a client tool means, in words and direction."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain.changes import MISSING, Change, Direction, between, client_tool_meanings

TOOL: dict[str, Any] = {
    "name": "wire_payout",
    "effect": "write",
    "trust_completion": False,
    "require_equal": [],
    "idempotency_key": [],
    "input_schema": {
        "type": "object",
        "required": ["amount_cents", "currency"],
        "properties": {"amount_cents": {"type": "integer"}, "currency": {"enum": ["EUR"]}},
    },
}


def schema(**properties: Any) -> dict[str, Any]:
    return {**TOOL["input_schema"], "properties": {**TOOL["input_schema"]["properties"], **properties}}


@pytest.mark.parametrize(
    ("changed", "direction", "words"),
    [
        ({"trust_completion": True}, Direction.LOOSENING, "client's own word now settles"),
        (
            {"require_equal": ["amount_cents"]},
            Direction.TIGHTENING,
            "no longer differ from what was authorised in amount_cents",
        ),
        ({"effect": "read"}, Direction.LOOSENING, "read instead of write"),
        ({"output_schema": {"type": "object"}}, Direction.TIGHTENING, "output is now held to a schema"),
        ({"input_schema": schema(currency={"enum": ["EUR", "USD"]})}, Direction.LOOSENING, "currency"),
        ({"input_schema": schema(currency={})}, Direction.LOOSENING, "no longer limited by enum"),
        ({"input_schema": schema(amount_cents={"type": "integer", "maximum": 50000})}, Direction.TIGHTENING, "maximum"),
        ({"input_schema": schema(amount_cents={"type": "number"})}, Direction.LOOSENING, '"number"'),
        (
            {"input_schema": {**TOOL["input_schema"], "required": ["amount_cents"]}},
            Direction.LOOSENING,
            "no longer requires currency",
        ),
        ({"idempotency_key": ["currency"]}, Direction.TIGHTENING, "same call is now currency"),
    ],
)
def test_a_change_is_told_in_words_with_its_direction(
    changed: dict[str, Any], direction: Direction, words: str
) -> None:
    (meaning,) = client_tool_meanings(TOOL, {**TOOL, **changed})
    assert (meaning.direction, words in meaning.sentence) == (direction, True), meaning


def test_loosening_comes_first() -> None:
    meanings = client_tool_meanings(TOOL, {**TOOL, "require_equal": ["currency"], "trust_completion": True})
    assert [meaning.direction for meaning in meanings] == [Direction.LOOSENING, Direction.TIGHTENING]


def test_an_equal_document_has_no_changes() -> None:
    assert client_tool_meanings(TOOL, dict(TOOL)) == []


def test_the_pointer_escapes_slashes_and_tildes() -> None:
    assert between({"a/b": {"c~d": 1}}, {"a/b": {}}) == [Change("/a~1b/c~0d", 1, MISSING)]


def test_an_integer_and_its_double_are_a_change() -> None:
    assert between({"one_of": [1]}, {"one_of": [1.0]}) == [Change("/one_of", [1], [1.0])]
