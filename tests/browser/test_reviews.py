"""Two tools drafted by fields and by TOML, sent back, edited, approved, published, rolled back; a stale approval; a revoke."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.reviews import services
from salvor_admin.reviews.models import ChangeRequest, Document, Verdict
from tests.browser.pages import Visit
from tests.catalogue.pages import path
from tests.reviews.factories import REFUND_CARD, a_published_tool, a_revision, a_submitted_change
from tests.runtimes.factories import a_runtime, a_runtime_token

pytestmark = pytest.mark.django_db(transaction=True)

Open = Callable[..., Visit]

INPUT = '{"type": "object", "required": ["payee", "amount_cents"], "properties": {"amount_cents": {"type": "integer"}}}'
OUTPUT = '{"type": "object", "required": ["payout_id"], "properties": {"payout_id": {"type": "string"}}}'


def live_tools(token: str) -> list[str]:
    answer = Client().get("/v1/client-tools", headers={"Authorization": f"Bearer {token}"})
    return [tool["name"] for tool in answer.json()["client_tools"]]


def choose(page: Page, name: str) -> None:
    page.locator(".verdict").get_by_label(name).check()


def test_two_tools_go_from_draft_to_live_and_back(
    visit: Open, workspace: Workspace, ada: Actor, grace: Actor, pat: Actor
) -> None:
    author, reviewer, publisher = (visit(actor).page for actor in (ada, grace, pat))
    token = a_runtime_token(runtime=a_runtime(admin=workspace, name="checkout-eu-1"))

    # One by its fields; the rules speak while she types, and nothing is saved before they are silent.
    author.goto(path(ada, "catalogue:new_tool"))
    author.get_by_label("name", exact=True).fill("wire_payout")
    author.get_by_label("input_schema").fill(INPUT)
    author.get_by_label("output_schema").fill(OUTPUT)
    author.get_by_label("require_equal").fill("amount_cents")
    expect(author.locator("#id_require_equal_error")).to_contain_text("output_schema.required")
    author.get_by_label("output_schema").fill(OUTPUT.replace('["payout_id"]', '["payout_id", "amount_cents"]'))
    expect(author.locator("#id_require_equal_error")).to_be_empty()
    author.get_by_role("button", name="Save the draft").click()
    expect(author.get_by_role("heading", level=1)).to_contain_text("wire_payout")
    author.get_by_label("Reason").first.fill("Payouts by agents.")
    author.get_by_role("button", name="Submit CR-1").click()
    expect(author.locator(".page-head")).to_contain_text("In review")

    # The other as TOML, submitted at once.
    author.goto(path(ada, "catalogue:new_tool"))
    author.get_by_role("button", name="TOML").click()
    author.get_by_label("Client tool as TOML").fill(REFUND_CARD.decode())
    author.get_by_label("Reason for the change request").fill("Refunds by agents.")
    author.get_by_role("button", name="Submit for review").click()
    expect(author.get_by_role("heading", level=1)).to_contain_text("refund_card")
    refunds = author.url

    # Sent back with a reason; edited from the change itself; the earlier verdict is void in words.
    reviewer.goto(refunds)
    choose(reviewer, "Ask for changes")
    reviewer.locator("#v-reason").fill("Who is refunded?")
    reviewer.get_by_role("button", name="Ask for changes to").click()
    expect(reviewer.locator(".page-head")).to_contain_text("Changes requested")
    author.goto(refunds)
    author.get_by_role("link", name="Edit refund_card").first.click()
    author.get_by_label("idempotency_key").fill("order_id, amount_cents")
    author.get_by_label("Reason for the change request").fill("The amount is part of what one refund is.")
    author.get_by_role("button", name="Submit for review").click()
    expect(author.locator(".history")).to_contain_text("Void: given for an earlier content")

    # Approved and published; the runtime sees it at its next read.
    reviewer.goto(refunds)
    choose(reviewer, "Approve")
    reviewer.get_by_role("button", name="Approve").click()
    expect(reviewer.locator(".page-head")).to_contain_text("Approved")
    assert live_tools(token) == []
    publisher.goto(refunds)
    publisher.get_by_role("button", name="Publish").click()
    expect(publisher.locator(".receipt")).to_contain_text("Published")
    assert live_tools(token) == ["refund_card"]

    # A second revision live, then rolled back to the first that was.
    a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=None)
    document = Document.objects.get(key="refund_card")
    author.goto(path(ada, "catalogue:document", document_id=document.pk))
    author.get_by_text("Propose a roll-back").click()
    author.get_by_label("Revision", exact=True).select_option("2")
    author.locator("#p-reason").fill("Pins were better.")
    author.get_by_role("button", name="Submit the proposal").click()
    expect(author.get_by_role("heading", level=1)).to_contain_text("refund_card")
    reviewer.goto(author.url)
    reviewer.get_by_role("button", name="Approve").click()
    publisher.goto(author.url)
    publisher.get_by_role("button", name="Publish").click()
    expect(publisher.locator(".receipt")).to_contain_text("Published")
    document.refresh_from_db()
    assert document.live_revision is not None and document.live_revision.number == 2


def test_a_stale_approval_is_refused_and_shows_what_changed_meanwhile(visit: Open, ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    page = visit(grace).goto(path(grace, "reviews:change_request", request_id=request.pk))
    a_revision(author=ada, trust_completion=False)
    services.submit(request_id=request.pk, actor=ada, reason="Again.")
    page.locator("#v-reason").fill("Looks right.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Nothing was recorded")).to_be_visible()
    expect(page.get_by_role("heading", name="Since you looked")).to_be_visible()
    expect(page.locator("#v-reason")).to_have_value("Looks right.")
    assert Verdict.objects.count() == 0
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".page-head")).to_contain_text("Approved")


def test_an_emergency_revoke_is_seen_at_the_next_read_and_looked_back_at(
    visit: Open, workspace: Workspace, ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    token = a_runtime_token(runtime=a_runtime(admin=workspace, name="checkout-eu-1"))
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    assert live_tools(token) == ["refund_card"]
    document = Document.objects.get()
    page = visit(root).goto(path(root, "catalogue:document", document_id=document.pk))
    page.get_by_text("Revoke at once").first.click()
    page.locator("[name=typed_name]").fill("refund_card")
    page.locator("#r-reason").fill("Doubled refunds.")
    page.get_by_role("button", name="Revoke refund_card").click()
    expect(page.locator(".page-head")).to_contain_text("Not served")
    assert live_tools(token) == []
    request = ChangeRequest.objects.get(after_review=True)
    desk = visit(grace).goto(path(grace, "reviews:change_request", request_id=request.pk))
    expect(desk.get_by_text("This is live already")).to_be_visible()
    desk.get_by_role("button", name="Approve").click()
    expect(desk.locator(".page-head")).to_contain_text("Revoke reviewed")


def test_a_draft_is_written_and_a_change_decided_without_script(visit: Open, ada: Actor, grace: Actor) -> None:
    page = visit(ada, script=False).goto(path(ada, "catalogue:new_tool"))
    page.get_by_label("name", exact=True).fill("stock_level")
    page.get_by_label("input_schema").fill('{"type": "object"')
    page.get_by_role("button", name="Save the draft").click()
    expect(page.locator("#id_input_schema_error")).to_contain_text("no JSON")
    page.get_by_label("input_schema").fill('{"type": "object"}')
    page.get_by_label("Sample input").fill("[]")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator("#says")).to_contain_text("400 bad_request")
    page.get_by_label("Reason for the change request").fill("Stock.")
    page.get_by_role("button", name="Submit for review").click()
    desk = visit(grace, script=False).goto(page.url)
    desk.locator(".verdict").get_by_label("Reject").check()
    desk.locator("#v-reason").fill("No need.")
    desk.get_by_role("button", name="Reject").click()
    expect(desk.locator(".page-head")).to_contain_text("Rejected")
