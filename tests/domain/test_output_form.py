"""The settle form from an output schema: what is asked, and that numbers keep their spelling."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import canonical
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.output_form import FieldFaults, FieldKind, form_of, read_fields, read_raw
from salvor_admin.domain.refusals import Refusal

SCHEMA = {
    "type": "object",
    "required": ["refund_id", "amount_cents"],
    "properties": {
        "refund_id": {"type": "string", "description": "as the provider spells it"},
        "amount_cents": {"type": "integer"},
        "fee": {"type": "number"},
        "settled": {"type": "boolean"},
        "status": {"enum": ["succeeded", "pending", 1]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "payee": {"type": "object", "required": ["iban"], "properties": {"iban": {"type": "string"}}},
        "memo": {"type": ["string", "null"]},
        "lines": {"type": "array", "items": {"type": "object"}},
        "choice": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    },
}


def a_tool(schema: Any = SCHEMA, pins: tuple[str, ...] = ("amount_cents",)) -> ClientTool:
    return ClientTool("refund_card", Effect.WRITE, {"type": "object"}, schema, True, pins)


def the_form(schema: Any = SCHEMA, input: Any = None) -> Any:
    return form_of(a_tool(schema), {"amount_cents": 5000} if input is None else input)


def named(form: Any, label: str) -> Any:
    return next(field for field in form.every() if field.label == label)


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("refund_id", FieldKind.TEXT),
        ("amount_cents", FieldKind.PINNED),
        ("fee", FieldKind.NUMBER),
        ("settled", FieldKind.BOOLEAN),
        ("status", FieldKind.CHOICE),
        ("tags", FieldKind.LINES),
        ("payee", FieldKind.GROUP),
        ("iban", FieldKind.TEXT),
        ("memo", FieldKind.TEXT),
        ("lines", FieldKind.JSON),
        ("choice", FieldKind.JSON),
    ],
)
def test_each_kind_of_schema_is_asked_in_its_own_way(label: str, kind: FieldKind) -> None:
    assert named(the_form(), label).kind is kind


def test_required_fields_are_asked_first() -> None:
    assert [field.label for field in the_form().fields][:2] == ["refund_id", "amount_cents"]


def typed(form: Any, **values: str) -> dict[str, str]:
    return {named(form, label).name: value for label, value in values.items()}


def test_what_is_typed_becomes_the_output_and_the_pin_is_filled_in() -> None:
    form = the_form()
    output = read_fields(
        form, typed(form, refund_id="re_1", fee="0.50", settled="true", status='"pending"', tags="a\nb", iban="DE02")
    )
    assert canonical.text(output) == (
        '{"amount_cents":5000,"fee":0.5,"payee":{"iban":"DE02"},"refund_id":"re_1","settled":true,'
        '"status":"pending","tags":["a","b"]}'
    )


def test_a_pin_cannot_be_typed_over() -> None:
    form = the_form()
    assert read_fields(form, typed(form, refund_id="re_1", amount_cents="1"))["amount_cents"] == 5000


def test_a_pin_keeps_the_spelling_it_was_asked_with() -> None:
    form = the_form(input={"amount_cents": 5000.0})
    output = read_fields(form, typed(form, refund_id="re_1"))
    assert canonical.text(output) == '{"amount_cents":5000.0,"refund_id":"re_1"}'


def test_left_out_fields_stay_out_and_a_required_one_is_missed() -> None:
    form = the_form()
    with pytest.raises(FieldFaults) as caught:
        read_fields(form, {})
    assert list(caught.value.faults) == [named(form, "refund_id").name]


@pytest.mark.parametrize(
    ("spelling", "text"),
    [("1", "1"), ("1.0", "1.0"), ("1e2", "100.0"), ("-0", "-0.0"), ("18446744073709551615", "18446744073709551615")],
)
def test_a_number_keeps_what_its_spelling_says(spelling: str, text: str) -> None:
    form = the_form()
    assert canonical.text(read_fields(form, typed(form, refund_id="r", fee=spelling))["fee"]) == text


@pytest.mark.parametrize(
    "spelling",
    [
        "1,50",
        "1_000",
        "0x10",
        "١",
        "NaN",
        "Infinity",
        "1e400",
        "01",
        "+1",
        "9007199254740993.0",
        "99999999999999999999",
    ],
)
def test_a_number_that_would_change_or_is_none_is_refused(spelling: str) -> None:
    form = the_form()
    with pytest.raises(FieldFaults) as caught:
        read_fields(form, typed(form, refund_id="r", fee=spelling))
    assert list(caught.value.faults) == [named(form, "fee").name]


@pytest.mark.parametrize("spelling", ["5.0", "1e2", "12.5"])
def test_an_integer_is_digits_only(spelling: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    form = form_of(a_tool(schema, ()), {})
    with pytest.raises(FieldFaults):
        read_fields(form, typed(form, n=spelling))


def test_null_is_said_by_its_own_tick() -> None:
    form = the_form()
    output = read_fields(form, typed(form, refund_id="r") | {named(form, "memo").null_name: "on"})
    assert output["memo"] is None


@pytest.mark.parametrize("schema", [True, {"type": "array"}, {"$ref": "#/x"}, {"type": "object"}, ABSENT])
def test_what_no_form_can_ask_is_asked_as_json_with_the_reason(schema: Any) -> None:
    form = the_form(schema)
    assert form.fields == () and form.why and form.start == '{"amount_cents":5000}'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":1,"a":2}', "bad_request"),
        ('{"a":1e400}', "bad_request"),
        ('{"a":4999.9999999999999999999}', "bad_request"),
        ('{"a":1e-99999999999999999999}', "bad_request"),
        ('{"a":NaN}', "bad_request"),
        ('{"a":"\\u0000"}', "unstorable_text"),
        ('{"a":"\\ud83d"}', "unstorable_text"),
        ("[" * 200, "bad_request"),
        ("", "bad_request"),
        ("{", "bad_request"),
    ],
)
def test_raw_json_that_storing_would_change_is_refused(text: str, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_raw(text)
    assert caught.value.code == code


def test_raw_json_keeps_numbers_and_is_not_fooled_by_digits_in_texts() -> None:
    assert canonical.text(read_raw('{"n":[1,1.0,12.50],"t":"9007199254740993.0 \\" 1e999"}')) == (
        '{"n":[1,1.0,12.5],"t":"9007199254740993.0 \\" 1e999"}'
    )


def test_hostile_property_names_never_become_field_names() -> None:
    schema = {"type": "object", "properties": {'x" onfocus="a': {"type": "string"}, "csrfmiddlewaretoken": {}}}
    names = [field.name for field in form_of(a_tool(schema, ()), {}).every()]
    assert names == ["f0", "f1"]
