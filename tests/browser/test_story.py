"""One reviewed client tool, the published SDK as its runtime, one call settled by a person; and the trail of it all."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import salvor
from django.core.management import call_command
from django.db import connection
from playwright.sync_api import Page, expect

from salvor_admin.home import demo
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.reviews.models import Verdict
from tests.browser.pages import Visit
from tests.people.factories import PASSWORD, Cast
from tests.runtimes.factories import a_runtime, a_runtime_token

RUN = "0d5f4b7e-3c1a-4a2e-9b55-6f0c2a7d9e10"
AGENT = "sha256:" + "5" * 64
ASKED = {"order_id": "ORD-7781", "amount_cents": 5000}
REPORTED = {"provider_refund_id": "re_3PqT81Kd9f", "amount_cents": 4800}
SEEN = {"provider_refund_id": "re_3PqT81Kd9f", "amount_cents": 5000}


def test_a_tool_is_reviewed_a_runtime_calls_it_and_a_person_settles_what_it_could_not(
    visit: Callable[..., Visit], cast: Cast, workspace: Workspace, live_server: Any
) -> None:
    ada, grace, pat, noor = (signed_in(visit, cast.actor(name)) for name in ("ada", "grace", "pat", "noor"))

    digest = ada_imports_and_submits(ada)
    she_cannot_approve(ada)
    grace_reads_and_approves(grace, ada.url, digest)
    pat_publishes(pat, ada.url, digest)

    token = a_runtime_token(runtime=a_runtime(admin=workspace, name="checkout-eu-1"))
    with salvor.Client(live_server.url, token) as client:
        key = the_runtime_calls_and_its_report_is_refused(client)
        noor_settles(noor, key)
        the_runtime_reads_the_answer_and_goes_on(client, key)

    the_trail_names_who_did_what_on_which_digest(grace, digest)
    the_chain_is_whole_and_breaks_where_a_row_was_changed(workspace)


def signed_in(visit: Callable[..., Visit], actor: Actor) -> Page:
    page = visit().goto("/sign-in/")
    page.get_by_label("Username").fill(actor.person.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_url(f"**/w/{actor.workspace_key}/")
    return page


def go(page: Page, place: str) -> None:
    page.get_by_role("navigation", name="Places").get_by_role("link", name=place).click()


# --- a declaration becomes authority ---------------------------------------------------------------------------------


def ada_imports_and_submits(page: Page) -> str:
    """The digest of her change request."""
    go(page, "Tools")
    page.get_by_role("link", name="Import files").click()
    page.get_by_label("Files").set_input_files(demo.TOOLS / "refund_card.toml")
    page.get_by_label("Reason").fill("The checkout agents refund cards.")
    page.get_by_role("button", name="Import the files").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("refund_card")
    expect(page.locator(".page-head")).to_contain_text("In review")
    return page.locator(".confirm code.ident").first.inner_text()


def she_cannot_approve(page: Page) -> None:
    expect(page.get_by_role("button", name="Approve")).to_be_disabled()
    expect(page.locator("#decide")).to_contain_text("Not yours to decide")
    # Without the page's courtesy it is refused all the same.
    address = page.url
    with page.expect_response(lambda answer: answer.url.endswith("/verdict/")) as answered:
        page.evaluate(
            "for (const held of document.querySelectorAll('#decide :disabled')) held.disabled = false;"
            "document.querySelector('#decide form').submit()"
        )
    assert answered.value.status == 403
    expect(page.locator("main")).to_contain_text("not_allowed")
    assert not Verdict.objects.exists()
    page.goto(address)


def grace_reads_and_approves(page: Page, address: str, digest: str) -> None:
    go(page, "Reviews")
    page.get_by_role("link", name="CR-1").first.click()
    assert page.url.split("?")[0] == address.split("?")[0]
    fields = page.get_by_role("region", name="Changed fields of refund_card")
    for field, value in (("trust_completion", "true"), ("require_equal", "amount_cents"), ("effect", "write")):
        expect(fields.get_by_role("row").filter(has_text=field).first).to_contain_text(value)
    expect(page.locator("main")).to_contain_text("The checkout agents refund cards.")
    expect(page.locator(".confirm code.ident").first).to_have_text(digest)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".page-head")).to_contain_text("Approved")
    expect(page.get_by_role("button", name="Publish")).to_be_disabled()


def pat_publishes(page: Page, address: str, digest: str) -> None:
    page.goto(address)
    expect(page.locator(".confirm code.ident").first).to_have_text(digest)
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".page-head")).to_contain_text("Published")
    go(page, "Tools")
    expect(page.get_by_role("row").filter(has_text="refund_card")).to_contain_text("revision 1")


# --- a runtime performs it -------------------------------------------------------------------------------------------


def the_runtime_calls_and_its_report_is_refused(client: salvor.Client) -> str:
    """The idempotency key of the call that now waits."""
    (tool,) = client.list_client_tools()
    assert (tool.name, tool.effect, tool.trust_completion) == ("refund_card", "write", True)
    assert tool.require_equal == ["amount_cents"]

    driver = client.open_client_run(run_id=RUN)
    assert driver.append([driver.envelope(0, "RunStarted", agent_def_hash=AGENT, input={"order": "ORD-7781"})]) == [0]
    intent = driver.client_tool_intent(1, "refund_card", ASKED)
    assert (intent.settled, intent.effect) == (False, "write")

    with pytest.raises(salvor.SalvorAPIError) as refused:
        driver.client_tool_completion(1, REPORTED)
    assert (refused.value.status, refused.value.code) == (403, "client_completion_refused")
    assert all(said in refused.value.message for said in ("amount_cents", "5000", "4800", "require_equal"))
    assert [event.kind for event in driver.log()] == ["RunStarted", "ToolCallRequested"]
    assert client.get_run(RUN).status.state == "needs_reconciliation"
    assert driver.release()
    return str(intent.idempotency_key)


def noor_settles(page: Page, key: str) -> None:
    go(page, "Inbox")
    row = page.get_by_role("listitem").filter(has_text="refund_card")
    expect(row).to_contain_text("ORD-7781")
    expect(row).to_contain_text("1 refused")
    row.get_by_role("link").click()
    page.locator("#desk-case").get_by_role("link", name="Answer…").click()

    page.get_by_role("button", name="Claim").click()
    expect(page.locator("#holding")).to_contain_text("Claimed by you")
    expect(page.locator("main")).to_contain_text(key)
    expect(page.locator("main")).to_contain_text("refund_card, revision 1")
    report = page.get_by_role("region", name="Report 1, field by field")
    pinned = report.get_by_role("row").filter(has_text="amount_cents")
    expect(pinned).to_contain_text("5000")
    expect(pinned).to_contain_text("4800")

    page.get_by_text("Landed").first.click()
    expect(page.get_by_label("amount_cents")).to_have_value("5000")
    expect(page.get_by_label("amount_cents")).not_to_be_editable()
    page.get_by_label("In your words").fill("The provider's page shows 50.00 to the card.")
    page.get_by_label("This becomes permanent history").locator("visible=true").check()
    page.get_by_role("button", name="Settle as landed").click()
    expect(page.get_by_role("alert")).to_contain_text("Not recorded")
    expect(page.get_by_label("provider_refund_id")).to_have_attribute("aria-invalid", "true")

    page.get_by_label("provider_refund_id").fill(SEEN["provider_refund_id"])
    page.get_by_label("This becomes permanent history").locator("visible=true").check()
    page.get_by_role("button", name="Settle as landed").click()

    expect(page.get_by_role("heading", name="Receipt")).to_be_visible()
    expect(page.locator(".receipt")).to_contain_text("ToolCallCompleted at seq 2")
    go(page, "Inbox")
    expect(page.locator("main")).to_contain_text("No call waits for a person")


def the_runtime_reads_the_answer_and_goes_on(client: salvor.Client, key: str) -> None:
    driver = client.open_client_run(run_id=RUN)
    again = driver.client_tool_intent(1, "refund_card", ASKED)
    assert (again.settled, again.output, again.idempotency_key) == (True, SEEN, key)
    assert driver.log()[-1].payload["settled_by"] == "operator"
    assert driver.append([driver.envelope(3, "RunCompleted", output="Refunded in full.")]) == [3]
    assert driver.release()
    assert client.get_run(RUN).status.state == "completed"


# --- everything can be shown afterwards ------------------------------------------------------------------------------


def the_trail_names_who_did_what_on_which_digest(page: Page, digest: str) -> None:
    go(page, "Audit")
    short = digest.removeprefix("sha256:")[:4]
    for who, act in (
        ("ada", "change_request.submitted"),
        ("grace", "change_request.verdict_given"),
        ("pat", "change_request.published"),
    ):
        entry = page.get_by_role("row").filter(has=page.get_by_text(act, exact=True))
        expect(entry).to_contain_text(who)
        expect(entry).to_contain_text(short)
    expect(page.get_by_role("row").filter(has=page.get_by_text("case.settled", exact=True))).to_contain_text("noor")
    page.get_by_role("link", name="Check the chain").click()
    expect(page.get_by_role("status").first).to_contain_text("The chain is whole")


def the_chain_is_whole_and_breaks_where_a_row_was_changed(workspace: Workspace) -> None:
    code, told = verify_audit(workspace)
    assert (code, told["whole"]) == (0, True)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_only_grows")
        cursor.execute("UPDATE audit_entry SET actor_name = 'kim' WHERE action = 'change_request.verdict_given'")
        cursor.execute("ALTER TABLE audit_entry ENABLE TRIGGER audit_entry_only_grows")
        cursor.execute("SELECT number FROM audit_entry WHERE action = 'change_request.verdict_given'")
        (number,) = cursor.fetchone()
    code, told = verify_audit(workspace)
    assert (code, told["whole"], told["broken_at"]) == (1, False, number)


def verify_audit(workspace: Workspace) -> tuple[int, dict[str, Any]]:
    """`manage.py verify_audit --format json`: its exit code and what it says."""
    out = io.StringIO()
    code = 0
    try:
        call_command("verify_audit", workspace=workspace.key, format="json", stdout=out, stderr=io.StringIO())
    except SystemExit as left:
        code = int(left.code or 0)
    return code, json.loads(out.getvalue())
