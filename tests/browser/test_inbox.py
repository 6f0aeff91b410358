"""The inbox in a browser: two people, one keyboard, and lists that stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F
from playwright.sync_api import Page, expect

from salvor_admin.ledger.models import Event, Intent
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services
from salvor_admin.settlement.models import Claim, Settlement
from tests.browser.pages import Visit, axe, too_wide
from tests.people.factories import Cast
from tests.settlement.factories import INPUT, a_tool, a_waiting_call

pytestmark = pytest.mark.django_db(transaction=True)

INBOX = "/w/payments-eu/inbox/"


@pytest.fixture
def call(cast: Cast) -> Intent:
    a_tool(cast)
    return a_waiting_call(cast, input={**INPUT, "note": "twice\u200b only"})


@pytest.fixture
def bo(cast: Cast) -> Actor:
    cast.roles = {**cast.roles, "bo": ["settler"]}
    return cast.actor("bo")


def address(intent: Intent, *parts: str) -> str:
    return "/".join((f"/w/payments-eu/calls/{intent.pk}", *parts, ""))


def fill_in(page: Page, refund: str = "re_3PqT81Kd9f") -> None:
    page.get_by_label("provider_refund_id").fill(refund)
    page.get_by_label("In your words").fill("Seen at the provider.")
    page.locator("input[name=permanent][value=landed]").check()


def lapse() -> None:
    day = timedelta(days=1)
    Claim.objects.update(claimed_at=F("claimed_at") - day, lapses_at=F("lapses_at") - day)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False)])
def test_pages_of_calls_are_accessible_and_no_wider_than_the_screen(
    visit: Callable[..., Visit], call: Intent, cast: Cast, noor: Actor, width: int, dark: bool
) -> None:
    done = a_waiting_call(cast, input={"order_id": "ORD-1", "amount_cents": 7})
    services.abandon_call(intent_id=done.pk, actor=noor, reason="Withdrawn.")
    services.claim_case(intent_id=call.pk, actor=noor)
    window = visit(noor, width=width, dark=dark)
    for path in (
        INBOX,
        f"{INBOX}?call={call.pk}",
        f"{INBOX}?q=nothing",
        f"{INBOX}?done={done.pk}",
        f"{INBOX}history/",
        address(call),
        address(done, "receipt"),
        f"/w/payments-eu/runs/{call.run.run_id}/?as_of=1",
    ):
        page = window.goto(path)
        assert (path, axe(page), too_wide(page)) == (path, [], False)


def test_a_call_is_settled_by_keyboard_alone(visit: Callable[..., Visit], call: Intent, noor: Actor) -> None:
    page = visit(noor).goto(INBOX)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#desk-case h2").first).to_contain_text("refund_card")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="What really happened?")).to_be_visible()
    page.keyboard.press("c")
    expect(page.get_by_text("Claimed by you").first).to_be_visible()
    page.locator("input[name=outcome][value=landed]").focus()
    page.keyboard.press("Tab")
    for _ in range(40):
        name = page.evaluate("document.activeElement.labels?.[0]?.innerText ?? ''")
        if name.startswith("provider_refund_id"):
            page.keyboard.type("re_3PqT81Kd9f")
        elif name.startswith("In your words"):
            page.keyboard.type("Seen at the provider.")
        elif name.startswith("This becomes permanent"):
            page.keyboard.press("Space")
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Receipt: read back from the ledger")).to_be_visible()
    assert Event.objects.get(run=call.run, seq=2).kind == "ToolCallCompleted"


def test_with_scripts_off_a_call_is_found_claimed_and_settled(
    visit: Callable[..., Visit], call: Intent, noor: Actor
) -> None:
    page = visit(noor, script=False).goto(INBOX)
    page.locator(".queue-link").first.click()
    page.get_by_role("button", name="Claim").click()
    expect(page.get_by_text("Claimed by you").first).to_be_visible()
    fill_in(page)
    page.get_by_role("button", name="Settle as landed").click()
    expect(page.get_by_role("heading", name="Receipt: read back from the ledger")).to_be_visible()


def test_two_people_settle_no_call_twice(visit: Callable[..., Visit], call: Intent, noor: Actor, bo: Actor) -> None:
    one, other = visit(noor).goto(address(call)), visit(bo).goto(address(call))
    fill_in(one)
    fill_in(other, "re_other")
    one.get_by_role("button", name="Settle as landed").click()
    expect(one.get_by_role("heading", name="Receipt: read back from the ledger")).to_be_visible()
    other.get_by_role("button", name="Settle as landed").click()
    expect(other.get_by_text("Noor Haddad was first on").first).to_be_visible()
    expect(other.locator("textarea", has_text="re_other")).to_be_visible()
    assert Settlement.objects.count() == 1


def test_a_lapsed_claims_old_tab_is_refused_and_its_text_offered_back(
    visit: Callable[..., Visit], call: Intent, noor: Actor, bo: Actor
) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    page = visit(noor).goto(address(call))
    fill_in(page)
    lapse()
    services.claim_case(intent_id=call.pk, actor=bo)
    page.get_by_role("button", name="Settle as landed").click()
    expect(page.get_by_text("bo holds the case now").first).to_be_visible()
    assert page.get_by_label("provider_refund_id").input_value() == "re_3PqT81Kd9f"
    assert not Settlement.objects.exists()
    services.release_case(intent_id=call.pk, actor=bo)
    page.goto(address(call))
    assert page.get_by_label("In your words").input_value() == "Seen at the provider."


def test_typing_keeps_the_text_and_the_claim(visit: Callable[..., Visit], call: Intent, noor: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    before = Claim.objects.get().lapses_at
    page = visit(noor).goto(address(call))
    with page.expect_response(
        lambda answer: answer.url.endswith("/activity/") and "editing" in (answer.request.post_data or "")
    ):
        page.get_by_label("In your words").fill("I am looking at the provider.")
    assert Claim.objects.get().lapses_at > before
    page.goto(INBOX)
    page.goto(address(call))
    assert page.get_by_label("In your words").input_value() == "I am looking at the provider."


def test_a_refresh_moves_no_row_under_the_pointer(
    visit: Callable[..., Visit], call: Intent, cast: Cast, noor: Actor, bo: Actor
) -> None:
    a_waiting_call(cast, input={"order_id": "ORD-2", "amount_cents": 7})
    page = visit(noor).goto(INBOX)
    rows = page.locator(".queue-link")
    before = [rows.nth(place).bounding_box() for place in range(2)]
    services.claim_case(intent_id=call.pk, actor=bo)
    page.evaluate("htmx.ajax('GET', document.getElementById('queue-news').getAttribute('hx-get'), '#queue-news')")
    expect(page.locator(f"#note-{call.pk.hex}")).to_contain_text("left")
    assert [rows.nth(place).bounding_box() for place in range(2)] == before


def test_a_filter_changes_the_list_and_leaves_the_call_beside_it(
    visit: Callable[..., Visit], call: Intent, noor: Actor
) -> None:
    page = visit(noor).goto(f"{INBOX}?call={call.pk}")
    page.get_by_placeholder("Run, key or value").fill("ORD-9")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", name="1 call waits, none of them matches")).to_be_visible()
    expect(page.locator("#desk-case h2").first).to_contain_text("refund_card")
    assert "q=ORD-9" in page.url


def test_what_arrived_meanwhile_is_shown_when_asked_for(
    visit: Callable[..., Visit], call: Intent, cast: Cast, noor: Actor
) -> None:
    page = visit(noor).goto(INBOX)
    a_waiting_call(cast, input={"order_id": "ORD-2", "amount_cents": 7})
    page.evaluate("htmx.ajax('GET', document.getElementById('queue-news').getAttribute('hx-get'), '#queue-news')")
    page.get_by_role("link", name="Show").click()
    expect(page.locator(".queue-link")).to_have_count(2)
