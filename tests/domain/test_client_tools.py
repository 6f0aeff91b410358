"""Client tools: the rules of a declaration in their order, and its spellings."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salvor_admin.domain import canonical, client_tools, strict_json
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.refusals import Refusal

REFUND = ClientTool(
    name="refund_card",
    effect=Effect.WRITE,
    input_schema={"type": "object", "required": ["order_id", "amount_cents"]},
    output_schema={"type": "object", "required": ["amount_cents"]},
    trust_completion=True,
    require_equal=("amount_cents",),
    idempotency_key=("order_id",),
)


def document(**changes: Any) -> dict[str, Any]:
    body = {
        "name": "refund_card",
        "effect": "write",
        "input_schema": {"type": "object", "required": ["order_id"]},
        **changes,
    }
    return {key: value for key, value in body.items() if value is not ABSENT}


REFUSED: dict[str, tuple[Any, str, str]] = {
    "not an object": ([], "wrong_type", ""),
    "an unknown key": (document(timeout=5), "unknown_key", "/timeout"),
    "notes that say something": (document(notes={"a": 1}), "wrong_type", "/notes"),
    "no name": (document(name=ABSENT), "missing_key", "/name"),
    "no effect": (document(effect=ABSENT), "missing_key", "/effect"),
    "no input schema": (document(input_schema=ABSENT), "missing_key", "/input_schema"),
    "a name that is no string": (document(name=None), "wrong_type", "/name"),
    "an effect by another name": (document(effect="WRITE"), "unknown_effect", "/effect"),
    "an effect that is a table": (document(effect={"write": {}}), "wrong_type", "/effect"),
    "trust that is no boolean": (document(trust_completion=1), "wrong_type", "/trust_completion"),
    "pins that are no list": (document(require_equal="order_id"), "wrong_type", "/require_equal"),
    "a key field that is no string": (document(idempotency_key=["order_id", 5]), "wrong_type", "/idempotency_key/1"),
    "a key field that may be missing": (
        document(idempotency_key=["id"]),
        "key_field_not_required",
        "/idempotency_key/0",
    ),
    "a pin that may be missing from the input": (
        document(require_equal=["id"], output_schema={"required": ["id"]}),
        "pinned_field_not_required",
        "/require_equal/0",
    ),
    "a pin without an output schema": (
        document(require_equal=["order_id"]),
        "pinned_field_not_required",
        "/require_equal/0",
    ),
    "an empty name": (document(name=""), "bad_name", "/name"),
    "a name of 513 bytes": (document(name="é" * 256 + "x"), "bad_name", "/name"),
    "a name with a control character": (document(name="a\x85b"), "bad_name", "/name"),
    "a key field called run": (
        document(idempotency_key=["run"], input_schema={"required": ["run"]}),
        "reserved_key_field",
        "/idempotency_key/0",
    ),
    "a key field called tool": (
        document(idempotency_key=["order_id", "tool"], input_schema={"required": ["order_id", "tool"]}),
        "reserved_key_field",
        "/idempotency_key/1",
    ),
    "an infinite bound": (document(input_schema={"maximum": float("inf")}), "no_json_value", "/input_schema/maximum"),
    "an input schema that is none": (document(input_schema={"type": "money"}), "not_a_schema", "/input_schema/type"),
    "an output schema that is none": (document(output_schema={"items": 5}), "not_a_schema", "/output_schema/items"),
    "an unknown key before a wrong type": ({"zzz": 1, "name": 5}, "unknown_key", "/zzz"),
    "a wrong type before an unknown key": ({"name": 5, "zzz": 1}, "wrong_type", "/name"),
    "a key rule before a pin rule": (
        document(require_equal=["b"], idempotency_key=["a"]),
        "key_field_not_required",
        "/idempotency_key/0",
    ),
    "the reference's rules before ours": (
        document(name="", idempotency_key=["a"]),
        "key_field_not_required",
        "/idempotency_key/0",
    ),
}


@pytest.mark.parametrize(("body", "code", "place"), REFUSED.values(), ids=REFUSED.keys())
def test_the_first_rule_a_document_breaks_is_told_with_its_place(body: Any, code: str, place: str) -> None:
    with pytest.raises(Refusal) as caught:
        client_tools.from_document(body)
    assert (caught.value.code, caught.value.place) == (code, place)


def test_a_name_of_512_bytes_is_one() -> None:
    assert client_tools.from_document(document(name="é" * 256)).name == "é" * 256


def test_defaults_are_cautious_and_an_absent_output_schema_is_no_value() -> None:
    tool = client_tools.from_document(document())
    assert tool == ClientTool("refund_card", Effect.WRITE, {"type": "object", "required": ["order_id"]})
    assert tool.output_schema is ABSENT
    assert not tool.trust_completion


def test_the_listing_leaves_out_what_is_empty_and_keeps_an_empty_output_schema() -> None:
    # contract 2.3
    stock = ClientTool("stock_level", Effect.READ, {"type": "object"})
    assert canonical.text(client_tools.listing_entry(stock)) == (
        '{"effect":"read","input_schema":{"type":"object"},"name":"stock_level","trust_completion":false}'
    )
    assert client_tools.listing_entry(ClientTool("a", Effect.READ, {}, output_schema={}))["output_schema"] == {}


def test_the_document_is_the_listing_with_notes() -> None:
    assert client_tools.document_text(REFUND) == (
        '{"effect":"write","idempotency_key":["order_id"],"input_schema":{"required":["order_id","amount_cents"],'
        '"type":"object"},"name":"refund_card","notes":{},"output_schema":{"required":["amount_cents"],"type":"object"},'
        '"require_equal":["amount_cents"],"trust_completion":true}'
    )


def test_a_document_reads_back_to_the_same_tool() -> None:
    assert client_tools.from_document(client_tools.to_document(REFUND)) == REFUND
    assert client_tools.from_document_text(client_tools.document_text(REFUND)) == REFUND


def test_a_file_says_the_same_under_its_comments() -> None:
    text = client_tools.to_toml(REFUND, ["revision 3", 'approved by Grace\nname = "other"'])
    assert text.startswith('# revision 3\n# approved by Grace name = "other"\n')
    assert client_tools.from_toml(text.encode()) == REFUND


def test_a_refusal_of_a_file_names_the_line() -> None:
    with pytest.raises(Refusal) as caught:
        client_tools.from_toml(b'\xef\xbb\xbfname = "a"\r\neffect = "read"\r\n# x\r\n"trust/completion" = 1\r\n')
    assert (caught.value.code, caught.value.place) == ("unknown_key", "/trust~1completion")
    assert caught.value.details["line"] == 4


UNSAYABLE = [None, 2**63, [None], {"a": {"b": None}}]


@pytest.mark.parametrize("value", UNSAYABLE)
def test_what_toml_cannot_say_is_not_written(value: Any) -> None:
    with pytest.raises(Refusal) as caught:
        client_tools.to_toml(ClientTool("a", Effect.READ, {"default": value}))
    assert caught.value.code == "not_toml"
    assert (caught.value.place or "").startswith("/input_schema/default")


said = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=10,
)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(names, said, st.just(ABSENT) | said, st.booleans())
def test_a_written_file_reads_back_to_the_same_document(
    name: str, default: Any, example: Any, trust_completion: bool
) -> None:
    output_schema = example if example is ABSENT else {"x": example}
    tool = ClientTool(name, Effect.WRITE, {"default": default, "title": name}, output_schema, trust_completion)
    text = client_tools.to_toml(tool, [name])
    assert client_tools.document_text(client_tools.from_toml(text.encode())) == client_tools.document_text(tool)
    assert tomllib.loads(text)["name"] == name


@settings(max_examples=60, deadline=None)
@given(said)
def test_a_document_text_reads_back_to_itself(default: Any) -> None:
    text = client_tools.document_text(ClientTool("a", Effect.READ, {"default": default}))
    assert client_tools.document_text(client_tools.from_document_text(text)) == text
    assert canonical.text(strict_json.read(text.encode())) == text


def told_faults(value: Any, unread: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
    return [(fault.code, fault.place) for fault in client_tools.faults(value, unread=unread)]


def test_a_document_that_declares_a_tool_has_no_faults() -> None:
    assert told_faults(client_tools.to_document(REFUND)) == []


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_whatever_is_refused_is_among_the_faults(case: str) -> None:
    value, code, place = REFUSED[case]
    assert (code, place) in told_faults(value)


def test_all_faults_are_told_at_once() -> None:
    value = document(
        timeout=5,
        effect="WRITE",
        trust_completion="yes",
        require_equal=["amount"],
        idempotency_key=["run"],
        input_schema={"type": "object", "required": ["order_id"], "properties": {"order_id": {"minimum": "1"}}},
        output_schema={"required": []},
    )
    assert sorted(told_faults(value), key=str) == [
        ("key_field_not_required", "/idempotency_key/0"),
        ("not_a_schema", "/input_schema/properties/order_id/minimum"),
        ("pinned_field_not_required", "/require_equal/0"),
        ("pinned_field_not_required", "/require_equal/0"),
        ("reserved_key_field", "/idempotency_key/0"),
        ("unknown_effect", "/effect"),
        ("unknown_key", "/timeout"),
        ("wrong_type", "/trust_completion"),
    ]


def test_what_could_not_be_read_is_neither_missing_nor_held_against_the_rest() -> None:
    value = document(input_schema=ABSENT, require_equal=["amount", "order_id"], idempotency_key=["order_id"])
    assert told_faults(value, unread=("input_schema", "output_schema")) == []
    assert told_faults(value, unread=("input_schema",)) == [
        ("pinned_field_not_required", "/require_equal/0"),
        ("pinned_field_not_required", "/require_equal/1"),
    ]
