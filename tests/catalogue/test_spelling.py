"""A client tool as fields and as TOML: the same tool either way, and no typed word lost."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.catalogue import spelling
from salvor_admin.domain import client_tools
from salvor_admin.domain.refusals import Refusal
from tests.reviews.factories import REFUND_CARD, refund_card

TOOLS: dict[str, dict[str, Any]] = {
    "the usual one": {},
    "numbers that keep their spelling": {
        "input_schema": {
            "type": "object",
            "required": ["order_id", "amount_cents"],
            "properties": {"amount_cents": {"enum": [1, 1.0, 1e-7, 1e22, -0.0, 9007199254740993]}},
        }
    },
    "names with commas, spaces and brackets": {
        "require_equal": ["a, b", " c", "[d]"],
        "idempotency_key": ["a, b"],
        "input_schema": {"required": ["a, b", " c", "[d]"]},
        "output_schema": {"required": ["a, b", " c", "[d]"]},
    },
    "text of every kind": {
        "input_schema": {
            "required": ["order_id", "amount_cents"],
            "description": "tab\t, line\n, quote\", back\\slash, é, 東京, 👩‍💻, ",
            "properties": {"": {}, "a.b": {"pattern": "^\\d+$"}, "\"": {}},
        }
    },
    "an empty output schema": {"output_schema": {}, "require_equal": None, "trust_completion": False},
    "no output schema": {"output_schema": None, "require_equal": None, "trust_completion": False},
    "the same name twice": {"idempotency_key": ["order_id", "order_id"]},
}  # fmt: skip


@pytest.mark.parametrize("case", TOOLS, ids=str)
def test_a_tool_comes_back_from_fields_and_from_toml_as_it_was(case: str) -> None:
    tool = client_tools.from_document(refund_card(**TOOLS[case]))
    members = client_tools.listing_entry(tool)
    from_fields = spelling.read_fields(spelling.fields_of(members))
    assert from_fields.faults == []
    from_toml = spelling.read_toml(spelling.toml_of(from_fields.members))
    assert from_toml.faults == []
    for draft in (from_fields, from_toml):
        assert draft.tool is not None
        assert client_tools.document_text(draft.tool) == client_tools.document_text(tool)


def test_comments_come_back_as_long_as_the_text_says_the_same() -> None:
    kept = "# asked for by finance\n" + REFUND_CARD.decode()
    members = spelling.read_toml(kept).members
    assert spelling.toml_of(members, kept) == kept
    assert "finance" not in spelling.toml_of({**members, "effect": "idempotent"}, kept)


def test_what_toml_cannot_say_is_refused_and_not_left_out() -> None:
    members = {"name": "x", "effect": "read", "input_schema": {"enum": [None]}}
    with pytest.raises(Refusal) as caught:
        spelling.toml_of(members)
    assert caught.value.code == "not_toml" and "null" in caught.value.message


def test_each_fault_of_a_toml_text_names_its_line() -> None:
    text = 'name = "x"\neffect = "READ"\ntimeout = 5\ninput_schema = {}\n'
    assert [fault.message.split(":")[0] for fault in spelling.read_toml(text).faults] == ["Line 2", "Line 3"]


def test_a_fault_inside_a_schema_text_names_its_place() -> None:
    draft = spelling.read_fields({"name": "x", "effect": "read", "input_schema": '{"a": 1, "a": 2}'})
    assert [(fault.code, fault.place) for fault in draft.faults] == [("bad_request", "/input_schema/a")]
