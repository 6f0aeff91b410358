"""Drafting a client tool in the pages: every rule at its field, nothing written before it is in order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.people.access import Actor
from salvor_admin.reviews.models import ChangeRequest, Document, Revision
from tests.catalogue.pages import field_errors, path, query_count, signed_in
from tests.reviews.factories import REFUND_CARD, a_published_tool, a_revision, a_submitted_change, an_approved_change

pytestmark = pytest.mark.django_db

INPUT_SCHEMA = json.dumps(
    {
        "type": "object",
        "required": ["order_id", "amount_cents"],
        "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer"}},
    }
)
FIELDS = {
    "name": "refund_card",
    "effect": "write",
    "input_schema": INPUT_SCHEMA,
    "output_schema": '{"type": "object", "required": ["amount_cents"]}',
    "trust_completion": "true",
    "require_equal": "amount_cents",
    "idempotency_key": "order_id, amount_cents",
}


def draft(actor: Actor, act: str | None = None, **fields: str) -> Any:
    sent = {**FIELDS, **fields} if "toml" not in fields else fields
    return signed_in(actor).post(path(actor, "catalogue:new_tool"), {**sent, **({"act": act} if act else {})})


def stored() -> tuple[int, int, int]:
    return Revision.objects.count(), ChangeRequest.objects.count(), Entry.objects.count()


def test_fields_in_order_are_saved_as_a_draft(ada: Actor) -> None:
    answer = draft(ada, "save")
    request = ChangeRequest.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, path(ada, "reviews:change_request", request_id=request.pk))
    body = json.loads(Revision.objects.get().body)
    assert (request.state, body["require_equal"], body["trust_completion"]) == ("draft", ["amount_cents"], True)
    assert body["idempotency_key"] == ["order_id", "amount_cents"]


def test_submitting_needs_a_reason_at_its_field(ada: Actor) -> None:
    before = stored()
    answer = draft(ada, "submit")
    assert (answer.status_code, stored()) == (422, before)
    assert "Say why" in field_errors(answer.content.decode(), "reason")[0]
    assert draft(ada, "submit", reason="Refunds by agents.").status_code == 302
    assert ChangeRequest.objects.get().state == "in_review"


REFUSED: dict[str, tuple[dict[str, str], str, str]] = {
    "no name": ({"name": ""}, "name", "`name` is missing"),
    "no effect": ({"effect": ""}, "effect", "`effect` is missing"),
    "another effect": ({"effect": "WRITE"}, "effect", "`WRITE` is no effect"),
    "no input schema": ({"input_schema": " "}, "input_schema", "`input_schema` is missing"),
    "an input schema that is no JSON": ({"input_schema": "{"}, "input_schema", "no JSON"),
    "a bound that is text": (
        {"input_schema": INPUT_SCHEMA.replace('"integer"', '"integer", "minimum": "1"')},
        "input_schema",
        "/input_schema/properties/amount_cents/minimum",
    ),
    "a remote reference": (
        {"output_schema": '{"required": ["amount_cents"], "$ref": "http://169.254.169.254/x"}'},
        "output_schema",
        "nothing is fetched",
    ),
    "an unknown dialect": (
        {"output_schema": '{"required": ["amount_cents"], "$schema": "https://example.com/mine"}'},
        "output_schema",
        "dialect",
    ),
    "a pin the input does not require": ({"require_equal": "currency"}, "require_equal", "`input_schema.required`"),
    "a pin the output does not require": ({"require_equal": "order_id"}, "require_equal", "`output_schema.required`"),
    "an identity that may be missing": ({"idempotency_key": "note"}, "idempotency_key", "`input_schema.required`"),
    "an identity that replaces the run": (
        {"idempotency_key": "run", "input_schema": INPUT_SCHEMA.replace('["order_id"', '["run", "order_id"')},
        "idempotency_key",
        "replace the run",
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_rule_speaks_at_its_field_and_nothing_is_saved(case: str, ada: Actor) -> None:
    changes, field, words = REFUSED[case]
    before = stored()
    answer = draft(ada, "save", **changes)
    errors = field_errors(answer.content.decode(), field)
    assert answer.status_code == 422
    assert any(words.replace("`", "") in error for error in errors), errors
    assert stored() == before


def test_several_fields_are_refused_at_once_and_what_was_typed_stands(ada: Actor) -> None:
    html = draft(ada, "save", input_schema="{ typed", require_equal="currency", effect="").content.decode()
    assert "3 fields are refused" in html
    assert "{ typed" in html and 'value="currency"' in html


def test_an_unknown_key_is_named_with_its_line(ada: Actor) -> None:
    toml = REFUND_CARD.decode().replace("require_equal", "require_eqal")
    before = stored()
    answer = draft(ada, "save", toml=toml)
    (error,) = field_errors(answer.content.decode(), "toml")
    assert (answer.status_code, error[:8], "require_eqal" in error) == (422, "Line 4: ", True)
    assert stored() == before


def test_the_check_while_typing_says_the_same_and_writes_nothing(ada: Actor, grace: Actor) -> None:
    before = stored()
    for somebody in (ada, grace):
        answer = signed_in(somebody).post(
            path(somebody, "catalogue:check"), {**FIELDS, "require_equal": "currency"}, headers={"HX-Request": "true"}
        )
        html = answer.content.decode()
        assert answer.status_code == 200 and "<html" not in html
        assert len(field_errors(html, "require_equal")) == 2
        assert field_errors(html, "input_schema") == []
    assert stored() == before


def test_the_check_shows_findings_and_what_the_ledger_would_say(ada: Actor) -> None:
    html = (
        signed_in(ada)
        .post(
            path(ada, "catalogue:check"),
            {
                **FIELDS,
                "require_equal": "",
                "sample_input": '{"order_id":"x","amount_cents":1}',
                "sample_report": '{"amount_cents":2}',
            },
        )
        .content.decode()
    )
    assert "trusted_write_unpinned" in html
    assert "believed and closes the call" in html


def test_trying_out_works_without_script_and_records_nothing(ada: Actor) -> None:
    before = stored()
    html = draft(
        ada, "try", sample_input='{"order_id":"x","amount_cents":5000}', sample_report='{"amount_cents":4800}'
    ).content.decode()
    assert "403 client_completion_refused" in html
    assert stored() == before


def test_the_same_tool_goes_from_fields_to_toml_and_back(ada: Actor) -> None:
    as_toml = draft(ada, "as_toml")
    toml = as_toml.context["form"]["toml"].value()
    assert 'require_equal = ["amount_cents"]' in toml
    back = draft(ada, "as_fields", toml="# asked for by finance\n" + toml)
    fields = {name: back.context["form"][name].value() for name in FIELDS}
    assert json.loads(fields["input_schema"]) == json.loads(INPUT_SCHEMA)
    assert fields["idempotency_key"] == "order_id, amount_cents"
    kept = back.context["form"]["kept_toml"].value()
    again = draft(ada, "as_toml", kept_toml=kept)
    assert again.context["form"]["toml"].value().startswith("# asked for by finance")


def test_what_the_other_way_cannot_say_keeps_the_page_and_says_so(ada: Actor) -> None:
    answer = draft(ada, "as_toml", output_schema='{"required": ["amount_cents"], "enum": [null]}')
    html = answer.content.decode()
    assert answer.status_code == 422 and "null" in html and 'name="output_schema"' in html
    unknown = draft(ada, "as_fields", toml=REFUND_CARD.decode() + "\n[extra]\n")
    assert unknown.status_code == 422 and "extra" in unknown.content.decode()


def test_editing_begins_with_the_newest_revision_and_its_comments(ada: Actor) -> None:
    draft(ada, "save", toml="# asked for by finance\n" + REFUND_CARD.decode())
    document = Document.objects.get()
    page = signed_in(ada).get(path(ada, "catalogue:edit_tool", document_id=document.pk), {"as": "toml"})
    assert page.context["form"]["toml"].value().startswith("# asked for by finance")
    page = signed_in(ada).get(path(ada, "catalogue:edit_tool", document_id=document.pk))
    assert page.context["form"]["require_equal"].value() == "amount_cents"


def test_an_edit_saves_the_next_revision_into_the_open_change(ada: Actor) -> None:
    request = a_submitted_change(author=ada)
    document = Document.objects.get()
    answer = signed_in(ada).post(
        path(ada, "catalogue:edit_tool", document_id=document.pk),
        {**FIELDS, "act": "save", "begun_from": "1"},
    )
    assert answer["Location"] == path(ada, "reviews:change_request", request_id=request.pk)
    request.refresh_from_db()
    assert (request.state, Revision.objects.count()) == ("draft", 2)


def test_what_somebody_saved_meanwhile_is_not_written_over(ada: Actor) -> None:
    revision = a_revision(author=ada)
    a_revision(author=ada, require_equal=None)
    before = stored()
    answer = signed_in(ada).post(
        path(ada, "catalogue:edit_tool", document_id=revision.document_id),
        {**FIELDS, "act": "save", "begun_from": "1"},
    )
    assert answer.status_code == 422
    assert "saved revision 2 while you worked on revision 1" in answer.content.decode()
    assert stored() == before


@pytest.mark.parametrize("act", ["save", "submit"])
def test_a_new_tool_sent_twice_or_under_a_taken_name_is_no_revision_of_what_is_there(
    ada: Actor, grace: Actor, act: str
) -> None:
    """Whoever drafts a new tool does not know of the other, so its open change and verdicts stay as they are."""
    request = an_approved_change(author=ada, reviewer=grace)
    before = stored()
    answer = signed_in(ada).post(path(ada, "catalogue:new_tool"), {**FIELDS, "act": act, "reason": "New."})
    assert (answer.status_code, stored()) == (422, before)
    assert "There is a refund_card already" in field_errors(answer.content.decode(), "name")[0]
    request.refresh_from_db()
    assert request.state == "approved"


def test_another_name_is_another_tool(ada: Actor) -> None:
    revision = a_revision(author=ada)
    before = stored()
    answer = signed_in(ada).post(
        path(ada, "catalogue:edit_tool", document_id=revision.document_id), {**FIELDS, "name": "refund", "act": "save"}
    )
    assert (answer.status_code, stored()) == (422, before)
    assert "Draft a new tool" in field_errors(answer.content.decode(), "name")[0]


def test_who_is_no_author_is_told_so_and_saves_nothing(grace: Actor, ada: Actor) -> None:
    before = stored()
    assert draft(grace, "save").status_code == 403
    assert stored() == before


def test_enter_in_a_field_checks_and_writes_nothing(ada: Actor) -> None:
    html = signed_in(ada).get(path(ada, "catalogue:new_tool")).content.decode()
    assert html.index('value="check"') < html.index('value="as_fields"') < html.index('value="save"')
    before = stored()
    assert (draft(ada, "check").status_code, stored()) == (200, before)


def test_the_page_costs_the_same_with_one_revision_and_with_ten(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    where = path(ada, "catalogue:edit_tool", document_id=Document.objects.get().pk)
    one = query_count(ada, where)
    for _ in range(9):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=[])
    assert (one, query_count(ada, where)) == (9, 9)
