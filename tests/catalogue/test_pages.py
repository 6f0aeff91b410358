"""The list of client tools, one tool's page, and files to take away."""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from typing import Any

import pytest

from salvor_admin.domain import client_tools, review
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing, services
from salvor_admin.reviews.models import Document
from salvor_admin.reviews.services import WantedItem
from salvor_admin.runtimes import services as runtimes
from tests.catalogue.pages import path, query_count, signed_in
from tests.reviews.factories import a_published_tool, a_revision, a_submitted_change, refund_card

pytestmark = pytest.mark.django_db

READ = {
    "effect": "read",
    "require_equal": None,
    "idempotency_key": None,
    "output_schema": {"type": "object", "required": ["count"]},
}


@pytest.fixture
def tools(ada: Actor, grace: Actor, pat: Actor) -> None:
    """A trusted write and a person's write live, a read in review, a blocked draft without a change request."""
    a_published_tool(author=ada, reviewer=grace, publisher=pat, idempotency_key=["order_id", "amount_cents"])
    a_published_tool(author=ada, reviewer=grace, publisher=pat, name="wire_payout", trust_completion=False)
    a_submitted_change(author=ada, name="stock_level", **READ)
    a_submitted_change(author=ada, name="voucher_reload", output_schema=None, require_equal=None)
    a_revision(author=ada, name="abandoned_idea")


def names(actor: Actor, query: str = "") -> list[str]:
    html = signed_in(actor).get(path(actor, "catalogue:tools") + query).content.decode()
    return [re.sub("<[^>]+>", "", row) for row in re.findall(r'<th scope="row">.*?<code>(.*?)</code>', html)]


ALL = ["abandoned_idea", "refund_card", "stock_level", "voucher_reload", "wire_payout"]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ALL),
        ("?q=PAYOUT", ["wire_payout"]),
        ("?effect=read", ["stock_level"]),
        ("?effect=write", ["refund_card", "voucher_reload", "wire_payout"]),
        ("?trust=person", ["wire_payout"]),
        ("?trust=believed", ["refund_card", "stock_level", "voucher_reload"]),
        ("?change=open", ["stock_level", "voucher_reload"]),
        ("?change=none", ["abandoned_idea", "refund_card", "wire_payout"]),
        ("?findings=block", ["voucher_reload"]),
        ("?findings=warn", ["voucher_reload", "wire_payout"]),
        ("?live=yes", ["refund_card", "wire_payout"]),
        ("?live=no", ["abandoned_idea", "stock_level", "voucher_reload"]),
        ("?effect=write&trust=believed&live=yes", ["refund_card"]),
        ("?effect=read&trust=person", []),
    ],
)
def test_the_filter_in_the_address_says_which_tools_are_shown(
    query: str, shown: list[str], tools: None, ada: Actor
) -> None:
    assert names(ada, query) == shown


def test_a_filter_that_hides_all_offers_to_clear_it(tools: None, ada: Actor) -> None:
    html = signed_in(ada).get(path(ada, "catalogue:tools") + "?effect=read&trust=person").content.decode()
    assert "never_completable" in html and "Clear 2 filters" in html


@pytest.mark.parametrize("query", ["?effect=WRITE", "?trust=1", "?findings=note", "?live=maybe"])
def test_a_filter_that_is_none_is_refused_by_name(query: str, ada: Actor) -> None:
    answer = signed_in(ada).get(path(ada, "catalogue:tools") + query)
    assert answer.status_code == 400 and "is one of" in answer.content.decode()


def test_a_tool_whose_text_looks_like_another_effect_is_filtered_by_what_it_is(ada: Actor) -> None:
    lies = {"description": '"effect":"read","trust_completion":false}', "required": ["order_id", "amount_cents"]}
    a_submitted_change(author=ada, input_schema=lies)
    assert (names(ada, "?effect=read"), names(ada, "?trust=person")) == ([], [])
    assert names(ada, "?effect=write&trust=believed") == ["refund_card"]


def test_the_list_costs_the_same_for_one_tool_and_for_ten(ada: Actor, grace: Actor, pat: Actor) -> None:
    where = path(ada, "catalogue:tools")
    filtered = where + "?effect=write&trust=believed&change=none&findings=warn&live=yes"
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    one = query_count(ada, where), query_count(ada, filtered)
    for number in range(9):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=f"tool_{number}")
    assert one == (10, 10)
    assert (query_count(ada, where), query_count(ada, filtered)) == one


def document_page(actor: Actor, query: str = "") -> Any:
    document = Document.objects.get(key="refund_card")
    return signed_in(actor).get(path(actor, "catalogue:document", document_id=document.pk) + query)


def test_any_two_revisions_are_compared_either_way(ada: Actor, grace: Actor, pat: Actor) -> None:
    for changes in ({}, {"trust_completion": False}, {"idempotency_key": None}):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, **changes)
    page = document_page(ada, "?against=1&revision=2")
    assert [field.path for field in page.context["change"].fields] == ["/trust_completion"]
    assert "A person settles each call" in page.content.decode()
    page = document_page(ada, "?against=3&revision=1")
    assert [field.path for field in page.context["change"].fields] == ["/idempotency_key"]
    assert document_page(ada, "?against=1&revision=1").context["change"].fields == []
    assert document_page(ada, "?against=9&revision=1").status_code == 404


def test_a_revision_tells_who_approved_and_published_it(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    (told,) = document_page(ada).context["histories"]
    assert (told.is_live, told.approved_by, [each.number for each in told.publications]) == (
        True,
        ("Grace Okafor",),
        [1],
    )
    assert told.publications[0].published_by == pat.person


def test_a_revision_brought_twice_tells_both_publications(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=None)
    back = services.open_change_request(
        actor=ada, items=[WantedItem(Document.objects.get().pk, revision=1)], reason="Back.", submit=True
    )
    services.give_verdict(request_id=back.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=back.digest)
    publishing.publish(request_id=back.pk, actor=pat)
    second, first = document_page(ada).context["histories"]
    assert [each.number for each in first.publications] == [1, 3]
    assert (first.is_live, second.is_live) == (True, False)


def test_the_page_tells_which_runtime_loaded_which_revision(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    made = [runtimes.register_runtime(name=name, actor=root) for name in ("a-new", "b-behind", "c-never", "d-other")]
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    runtimes.record_loaded(runtime_id=made[1].pk, publication=1)
    a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=None)
    runtimes.record_loaded(runtime_id=made[0].pk, publication=2)
    a_published_tool(author=ada, reviewer=grace, publisher=pat, name="wire_payout")
    runtimes.record_loaded(runtime_id=made[3].pk, publication=3)
    loaded = document_page(ada).context["sections"][0].told
    assert [(row.runtime.name, row.revision, row.behind) for row in loaded.rows] == [
        ("a-new", 2, None),
        ("b-behind", 1, 2),
        ("c-never", None, 1),
        ("d-other", 2, None),
    ]


def test_the_page_costs_the_same_for_one_revision_and_for_ten(
    ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    runtimes.register_runtime(name="checkout-1", actor=root)
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    where = path(ada, "catalogue:document", document_id=Document.objects.get().pk)
    one = query_count(ada, where)
    for number in range(9):
        runtimes.register_runtime(name=f"payout-{number}", actor=root)
        a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=[])
    assert (one, query_count(ada, where)) == (17, 17)


def test_one_tool_is_taken_away_as_the_file_that_reads_back(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    document = Document.objects.select_related("live_revision").get()
    answer = signed_in(ada).get(path(ada, "catalogue:export_one", document_id=document.pk))
    assert answer["Content-Disposition"] == 'attachment; filename="refund_card.toml"'
    text = answer.content.decode()
    assert document.live_revision is not None
    assert client_tools.document_text(client_tools.from_toml(answer.content)) == document.live_revision.body
    for comment in (
        "# revision 1",
        f"# digest {document.live_revision.digest}",
        "# approved by grace",
        "# publication 1",
    ):
        assert comment in text.splitlines()


def test_what_is_not_live_is_not_taken_away(ada: Actor) -> None:
    revision = a_revision(author=ada)
    answer = signed_in(ada).get(path(ada, "catalogue:export_one", document_id=revision.document_id))
    assert answer.status_code == 409


def test_all_live_tools_are_taken_away_in_one_archive(ada: Actor, grace: Actor, pat: Actor) -> None:
    for name in ("refund_card", "../../etc/passwd", "پرداخت"):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=name)
    a_submitted_change(author=ada, name="not_live")
    answer = signed_in(ada).get(path(ada, "catalogue:export_all"))
    assert answer["Content-Disposition"] == 'attachment; filename="client-tools-payments-eu-3.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.toml", name) for name in archive.namelist())
        found = {tomllib.loads(archive.read(name).decode())["name"] for name in archive.namelist()}
    assert found == {"refund_card", "../../etc/passwd", "پرداخت"}


def test_taking_all_away_costs_the_same_for_one_tool_and_for_ten(ada: Actor, grace: Actor, pat: Actor) -> None:
    where = path(ada, "catalogue:export_all")
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    one = query_count(ada, where)
    for number in range(9):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=f"tool_{number}")
    assert (one, query_count(ada, where)) == (7, 7)


def test_a_document_of_another_kind_or_workspace_has_no_page_here(ada: Actor, kim: Actor) -> None:
    revision = a_revision(author=ada)
    assert signed_in(kim).get(path(kim, "catalogue:document", document_id=revision.document_id)).status_code == 404
    Document.objects.filter(pk=revision.document_id).update(kind="agent")
    assert signed_in(ada).get(path(ada, "catalogue:document", document_id=revision.document_id)).status_code == 404


def test_the_schema_tables_say_what_a_call_and_a_report_must_carry(ada: Actor) -> None:
    body = refund_card(
        input_schema={
            "type": "object",
            "required": ["order_id", "amount_cents", "unnamed"],
            "additionalProperties": False,
            "properties": {
                "order_id": {"type": "string", "minLength": 1, "maxLength": 64},
                "amount_cents": {"type": "integer", "minimum": 1},
                "currency": {"enum": ["EUR", "DKK"]},
                "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            },
        }
    )
    services.save_revision(actor=ada, kind="client_tool", body=body)
    page = document_page(ada)
    rows = [
        (row.path, row.type, row.required, row.limits, row.values, row.purpose) for row in page.context["input"].rows
    ]
    assert rows == [
        ("amount_cents", "integer", True, "at least 1", (), "pinned"),
        ("currency", "anything", False, "", ('"EUR"', '"DKK"'), ""),
        ("lines", "list of object", False, "", (), ""),
        ("lines[].sku", "text", False, "", (), ""),
        ("order_id", "text", True, "1 to 64 characters", (), "identity"),
        ("unnamed", "anything", True, "", (), ""),
    ]
    assert "Any other field is refused here." in page.content.decode()
