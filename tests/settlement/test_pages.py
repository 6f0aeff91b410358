"""The pages of calls in a browser without script: everything can be read and decided by links and forms."""

from __future__ import annotations

import hashlib
import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from salvor_admin.audit.models import Entry
from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Event, Intent
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services
from salvor_admin.settlement.models import Case, Claim, Evidence, KeptText, Note, Presence, Settlement
from tests.people.factories import Cast
from tests.settlement.factories import INPUT, OUTPUT, a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def storage(settings: Any, tmp_path: Any) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture
def call(cast: Cast) -> Intent:
    a_tool(cast)
    return a_waiting_call(cast)


def signed_in(actor: Actor) -> Client:
    client = Client()
    client.force_login(actor.person)
    return client


@pytest.fixture
def browser(noor: Actor) -> Client:
    return signed_in(noor)


@pytest.fixture
def bo(cast: Cast) -> Actor:
    cast.roles = {**cast.roles, "bo": ["settler"]}
    return cast.actor("bo")


def url(name: str, *args: Any) -> str:
    return reverse(f"settlement:{name}", args=["payments-eu", *args])


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))


def fields_of(response: Any, form_id: str = "settle") -> dict[str, str]:
    """What a browser would send of a form as it stands: hidden, text, chosen and ticked."""
    page = response.content.decode()
    form = re.search(rf'<form[^>]*id="{form_id}".*?</form>', page, re.DOTALL)
    assert form is not None
    found: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", form[0]):
        name, value = re.search(r' name="([^"]*)"', tag), re.search(r' value="([^"]*)"', tag)
        kind = re.search(r' type="([^"]*)"', tag)
        if name and (kind is None or kind[1] not in {"radio", "checkbox"} or " checked" in tag):
            found[name[1]] = html.unescape(value[1]) if value else ""
    for name, text in re.findall(r'<textarea[^>]* name="([^"]*)"[^>]*>(.*?)</textarea>', form[0], re.DOTALL):
        found[name] = html.unescape(text)
    for name, options in re.findall(r'<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>', form[0], re.DOTALL):
        chosen = re.search(r"<option([^>]*) selected>([^<]*)", options) or re.search(r"<option([^>]*)>([^<]*)", options)
        value = re.search(r'value="([^"]*)"', chosen[1]) if chosen else None
        found[name] = html.unescape(value[1] if value else chosen[2] if chosen else "")
    found.pop("csrfmiddlewaretoken", None)
    return found


def named(response: Any, label: str) -> str:
    """The name of the field that stands under this label."""
    found = re.search(
        rf"<label[^>]*>{label}.*?</label>\s*<(?:input|select|textarea)[^>]* name=\"([^\"]+)\"",
        response.content.decode(),
        re.DOTALL,
    )
    assert found is not None, label
    return found[1]


def landed(response: Any, **changes: str) -> dict[str, str]:
    """The form filled in as landed."""
    filled = fields_of(response) | {
        named(response, "provider_refund_id"): "re_3PqT81Kd9f",
        "outcome": "landed",
        "permanent": "landed",
        "reason": "Seen at the provider.",
        "reason_code": "seen_at_provider",
    }
    return filled | changes


# --- the whole story -------------------------------------------------------------------------------------------------


def test_a_waiting_call_is_found_claimed_read_and_settled_without_script(browser: Client, call: Intent) -> None:
    inbox = browser.get(url("inbox"))
    assert "1 waiting, 1 shown" in text_of(inbox)
    assert "5000" in text_of(inbox) and "ORD-7781" in text_of(inbox) and "1 refused" in text_of(inbox)
    preview = browser.get(url("inbox"), {"call": call.pk})
    assert url("call", call.pk) in preview.content.decode()
    claimed = browser.post(url("claim", call.pk), follow=True)
    assert "Claimed by you" in text_of(claimed)
    shown = text_of(claimed)
    for fact in (str(call.run.run_id), call.idempotency_key, "revision 1", "Grace Okafor", "Pat Lindqvist", "Differs"):
        assert fact in shown
    assert '"4800"' in claimed.content.decode() or ">4800<" in claimed.content.decode()
    answered = browser.post(url("answer", call.pk), landed(claimed), follow=True)
    assert answered.redirect_chain == [(url("receipt", call.pk), 303)]
    assert "Receipt: read back from the ledger" in text_of(answered)
    assert "at seq 2, for the intent at seq 1" in text_of(answered)
    assert f"{Entry.objects.order_by('-number')[0].number} , case.settled" in text_of(answered)
    stored = Event.objects.get(run=call.run, seq=2).payload
    assert (
        stored
        == '{"output":{"amount_cents":5000,"provider_refund_id":"re_3PqT81Kd9f"},"seq":1,"settled_by":"operator"}'
    )
    assert html.escape(stored, quote=True).replace("&#x27;", "&#39;") in answered.content.decode()
    assert "No call waits for a person" in text_of(browser.get(url("inbox")))


def test_reading_makes_no_case_and_writes_nothing(browser: Client, call: Intent) -> None:
    before = Entry.objects.count()
    for address in (url("inbox"), url("inbox") + f"?call={call.pk}", url("call", call.pk), url("run", call.run.run_id)):
        assert browser.get(address).status_code == 200
    assert (Case.objects.count(), Presence.objects.count(), Entry.objects.count()) == (0, 0, before)


@pytest.mark.parametrize("verb", ["claim", "release", "hand_over", "answer", "note", "evidence", "discard", "activity"])
def test_nobody_decides_by_get(browser: Client, call: Intent, verb: str) -> None:
    assert browser.get(url(verb, call.pk)).status_code == 405


# --- the answer's form -----------------------------------------------------------------------------------------------


def test_the_pin_is_filled_in_and_locked(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk)).content.decode()
    assert re.search(r'<input type="text" class="mono" id="o-f\d+" value="5000" readonly', page)


def test_without_the_tick_nothing_is_recorded_and_the_form_comes_back(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk))
    filled = landed(page)
    del filled["permanent"]
    refused = browser.post(url("answer", call.pk), filled)
    assert refused.status_code == 422
    assert "permanent history; it is never changed" in text_of(refused)
    assert fields_of(refused)[named(refused, "provider_refund_id")] == "re_3PqT81Kd9f"
    assert not Settlement.objects.exists()


def test_the_tick_of_another_outcome_does_not_count(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk))
    assert browser.post(url("answer", call.pk), landed(page, permanent="failed")).status_code == 422
    assert not Settlement.objects.exists()


def test_raw_json_keeps_its_numbers_and_is_held_to_the_pins(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk))
    raw = '{"provider_refund_id":"re_9","amount_cents":4800}'
    refused = browser.post(url("answer", call.pk), landed(page, use_raw="1", raw=raw))
    assert refused.status_code == 422 and "require_equal" in text_of(refused)
    assert fields_of(refused)["raw"] == raw
    assert not Settlement.objects.exists()
    raw = '{"provider_refund_id":"re_9","amount_cents":5000,"n":[1,1.0,18446744073709551615]}'
    browser.post(url("answer", call.pk), landed(page, use_raw="1", raw=raw))
    assert '"n":[1,1.0,18446744073709551615]' in (Settlement.objects.get().output or "")


@pytest.mark.parametrize("raw", ["{", '{"a":1,"a":2}', '{"a":1e400}', '{"a":"\\u0000"}', "[" * 5000, "9" * 5000, ""])
def test_json_that_cannot_be_kept_is_told_and_shown_back(browser: Client, call: Intent, raw: str) -> None:
    page = browser.get(url("call", call.pk))
    refused = browser.post(url("answer", call.pk), landed(page, use_raw="1", raw=raw))
    assert refused.status_code == 422
    assert fields_of(refused)["raw"].strip() == raw
    assert not Settlement.objects.exists()


def test_a_failure_goes_on_with_what_the_provider_said(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk))
    filled = fields_of(page) | {
        "outcome": "failed", "permanent": "failed", "error-message": "card declined", "reason": "Declined in the dashboard.",
    }  # fmt: skip
    assert browser.post(url("answer", call.pk), filled).status_code == 303
    assert '"message":"card declined"' in (Settlement.objects.get().output or "")


def test_will_not_happen_needs_the_tools_name_and_ends_the_run(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk))
    assert "Abandon run" in text_of(page)
    filled = fields_of(page) | {"outcome": "will_not_happen", "reason": "Withdrawn.", "typed": "refund"}
    assert browser.post(url("answer", call.pk), filled).status_code == 422
    assert not Settlement.objects.exists()
    assert browser.post(url("answer", call.pk), filled | {"typed": "refund_card"}).status_code == 303
    assert Event.objects.get(run=call.run, seq=2).kind == "RunAbandoned"
    receipt = browser.get(url("receipt", call.pk))
    assert "unresolved_write" in receipt.content.decode()


@pytest.mark.parametrize("at", ["2099-03-29T02:30", "", "tomorrow", "2026-02-30T10:00", "2001-01-01T00:00"])
def test_look_again_is_told_in_utc_and_odd_times_are_refused(browser: Client, call: Intent, at: str) -> None:
    page = browser.get(url("call", call.pk))
    filled = fields_of(page) | {"outcome": "still_unknown", "reason": "The provider is down.", "look_again_at": at}
    assert browser.post(url("answer", call.pk), filled).status_code == 422
    assert not Settlement.objects.exists()


def test_still_unknown_leaves_the_inbox_until_then(browser: Client, call: Intent) -> None:
    page = browser.get(url("call", call.pk))
    day = timedelta(days=1)
    later = f"{call.waits_at + day:%Y-%m-%dT%H:%M}"
    filled = fields_of(page) | {"outcome": "still_unknown", "reason": "The provider is down.", "look_again_at": later}
    assert browser.post(url("answer", call.pk), filled, follow=True).redirect_chain == [(url("inbox"), 303)]
    assert "No call waits for a person" in text_of(browser.get(url("inbox")))
    call.refresh_from_db()
    assert f"{call.waits_at:%Y-%m-%dT%H:%M}" == later


def test_after_an_answer_the_next_call_opens_when_that_is_wished(browser: Client, cast: Cast, call: Intent) -> None:
    other = a_waiting_call(cast, input={"order_id": "ORD-2", "amount_cents": 7})
    page = browser.get(url("call", call.pk))
    answered = browser.post(url("answer", call.pk), landed(page, advance="1"), follow=True)
    assert answered.redirect_chain == [(url("call", other.pk) + f"?done={call.pk}", 303)]
    assert "Recorded at seq 2" in text_of(answered)
    assert 'name="advance" value="1" checked' in answered.content.decode()


# --- two people ------------------------------------------------------------------------------------------------------


def lapse() -> None:
    day = timedelta(days=1)
    Claim.objects.update(claimed_at=F("claimed_at") - day, lapses_at=F("lapses_at") - day)


def test_a_lapsed_claims_old_tab_is_refused_with_its_text_kept(browser: Client, call: Intent, bo: Actor) -> None:
    old_tab = browser.post(url("claim", call.pk), follow=True)
    lapse()
    services.claim_case(intent_id=call.pk, actor=bo)
    refused = browser.post(url("answer", call.pk), landed(old_tab))
    assert refused.status_code == 409
    assert "bo holds the case now" in text_of(refused)
    assert fields_of(refused)["reason"] == "Seen at the provider."
    assert not Settlement.objects.exists()
    services.release_case(intent_id=call.pk, actor=bo)
    again = browser.get(url("call", call.pk))
    assert "was kept for you" in text_of(again)
    assert fields_of(again)[named(again, "provider_refund_id")] == "re_3PqT81Kd9f"
    assert "permanent" not in fields_of(again)


def test_kept_text_is_for_its_writer_alone_and_goes_when_told(browser: Client, call: Intent, bo: Actor) -> None:
    claimed = browser.post(url("claim", call.pk), follow=True)
    browser.post(url("activity", call.pk), landed(claimed, editing="1"))
    assert KeptText.objects.get().fields["reason"] == "Seen at the provider."
    assert "was kept for you" not in text_of(signed_in(bo).get(url("call", call.pk)))
    browser.post(url("discard", call.pk))
    assert not KeptText.objects.exists()


def test_a_second_answer_is_told_who_was_first_and_its_text_is_shown_back(
    browser: Client, call: Intent, bo: Actor
) -> None:
    page = browser.get(url("call", call.pk))
    services.settle_call(intent_id=call.pk, actor=bo, outcome=Outcome.LANDED, output=OUTPUT, reason="I saw it.")
    refused = browser.post(url("answer", call.pk), landed(page))
    assert refused.status_code == 409
    assert "bo was first on" in text_of(refused) and "re_3PqT81Kd9f" in refused.content.decode()
    assert Settlement.objects.count() == 1


def test_a_foreign_holder_is_named_before_and_after_sending(browser: Client, call: Intent, bo: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=bo)
    page = browser.get(url("call", call.pk))
    assert "bo holds this case" in text_of(page)
    refused = browser.post(url("answer", call.pk), landed(page))
    assert refused.status_code == 409 and "bo holds this case for another" in text_of(refused)
    assert not Settlement.objects.exists()


def test_while_a_driver_holds_the_run_an_extra_tick_is_asked(browser: Client, cast: Cast) -> None:
    a_tool(cast)
    call = a_waiting_call(cast, attached=True)
    page = browser.get(url("call", call.pk))
    assert "still drives this run" in text_of(page)
    refused = browser.post(url("answer", call.pk), landed(page))
    assert refused.status_code == 409 and not Settlement.objects.exists()
    assert browser.post(url("answer", call.pk), landed(page, driver_attached_ok="1")).status_code == 303


def test_a_form_of_a_revision_that_is_live_no_longer_is_not_read(browser: Client, cast: Cast, call: Intent) -> None:
    a_tool(cast, idempotency_key=None)
    page = browser.get(url("call", call.pk) + "?judge_by=live")
    a_tool(cast)
    refused = browser.post(url("answer", call.pk), landed(page))
    assert refused.status_code == 409 and "Another revision has become live" in text_of(refused)
    assert not Settlement.objects.exists()


def test_hand_over_and_release(browser: Client, call: Intent, bo: Actor) -> None:
    claimed = browser.post(url("claim", call.pk), follow=True)
    assert 'value="bo"' in claimed.content.decode()
    handed = browser.post(url("hand_over", call.pk), {"to": "bo"}, follow=True)
    assert "bo holds this case" in text_of(handed)
    released = signed_in(bo).post(url("release", call.pk), follow=True)
    assert "Nobody holds this case" in text_of(released)


def test_others_who_look_and_write_are_seen(browser: Client, call: Intent, bo: Actor) -> None:
    other = signed_in(bo)
    other.post(url("activity", call.pk), {"editing": "0"})
    assert "bo is looking" in text_of(browser.get(url("call", call.pk)))
    assert "bo looking" in text_of(browser.get(url("inbox")))
    other.post(url("activity", call.pk), {"editing": "1", "reason": "I think"})
    assert "bo is writing" in text_of(browser.get(url("call", call.pk)))


def test_typing_extends_the_claim_and_tells_when_it_is_gone(browser: Client, call: Intent) -> None:
    claimed = browser.post(url("claim", call.pk), follow=True)
    before = Claim.objects.get().lapses_at
    assert browser.post(url("activity", call.pk), landed(claimed, editing="1")).status_code == 200
    assert Claim.objects.get().lapses_at > before
    lapse()
    told = browser.post(url("activity", call.pk), landed(claimed, editing="1"), headers={"HX-Request": "true"})
    assert told.status_code == 409 and "lapsed" in text_of(told)
    assert told["HX-Retarget"] == "#notices"


# --- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ada", "grace", "pat", "root"])
def test_whoever_may_not_answer_reads_why_and_is_refused(cast: Cast, call: Intent, noor: Actor, name: str) -> None:
    browser = signed_in(cast.actor(name))
    page = browser.get(url("call", call.pk))
    assert "Only a settler may answer a call; noor could." in text_of(page)
    assert browser.post(url("claim", call.pk)).status_code == 403
    assert browser.post(url("answer", call.pk), landed(page)).status_code == 403
    assert browser.post(url("note", call.pk), {"text": "x"}).status_code == 403
    assert not Settlement.objects.exists() and not Claim.objects.exists() and not Note.objects.exists()


def test_another_workspaces_call_run_and_evidence_look_missing(call: Intent, kim: Actor, noor: Actor) -> None:
    signed_in(noor).post(url("evidence", call.pk), {"text": "seen"})
    browser = signed_in(kim)
    for address in (
        reverse("settlement:call", args=["logistics", call.pk]),
        reverse("settlement:run", args=["logistics", call.run.run_id]),
        reverse("settlement:receipt", args=["logistics", call.pk]),
        reverse("settlement:evidence_file", args=["logistics", Evidence.objects.get().pk]),
        url("call", call.pk),
    ):
        assert browser.get(address).status_code == 404
    assert browser.post(reverse("settlement:claim", args=["logistics", call.pk])).status_code == 404


# --- evidence and notes ----------------------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100


def test_a_file_is_kept_with_its_digest_and_given_back_as_a_download_only(browser: Client, call: Intent) -> None:
    file = SimpleUploadedFile("../../refund\u202egpj.png", PNG, content_type="text/html")
    assert browser.post(url("evidence", call.pk), {"file": file}).status_code == 303
    row = Evidence.objects.get()
    assert (row.file_name, row.content_type, row.size) == ("refundgpj.png", "image/png", len(PNG))
    assert row.digest == "sha256:" + hashlib.sha256(PNG).hexdigest()
    assert "refund" not in row.stored_as
    response = browser.get(url("evidence_file", row.pk))
    assert b"".join(response.streaming_content) == PNG  # type: ignore[arg-type]
    assert response["Content-Disposition"] == 'attachment; filename="refundgpj.png"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert Entry.objects.order_by("-number")[0].action == "case.evidence_added"


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("page.html", b"<script>", 415),
        ("picture.png", b"<svg onload=1>", 415),
        ("noending", b"x", 415),
        ("letter.txt", b"\x00\x01", 415),
        ("empty.txt", b"", 400),
        ("big.txt", b"x" * (10 * 1024 * 1024 + 1), 413),
    ],
)
def test_files_that_are_not_taken_leave_nothing_behind(
    browser: Client, call: Intent, tmp_path: Any, name: str, content: bytes, status: int
) -> None:
    response = browser.post(url("evidence", call.pk), {"file": SimpleUploadedFile(name, content)})
    assert response.status_code == status
    assert not Evidence.objects.exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "//x.example", "https://a b", "ftp://x.example"]
)
def test_a_link_leads_to_the_web_and_nowhere_else(browser: Client, call: Intent, link: str) -> None:
    assert browser.post(url("evidence", call.pk), {"link": link}).status_code == 400
    assert not Evidence.objects.exists()


def test_texts_links_and_notes_stand_on_the_page_as_text(browser: Client, call: Intent) -> None:
    hostile = '<script>alert(1)</script>\u202e<button hx-post="/x" hx-trigger="load">'
    browser.post(url("evidence", call.pk), {"text": hostile, "link": "https://provider.example/refunds?order=1"})
    browser.post(url("note", call.pk), {"text": hostile})
    page = browser.get(url("call", call.pk)).content.decode()
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2 and "<script>alert" not in page
    assert "⟦U+202E⟧" in page and "\u202e" not in page
    assert 'href="https://provider.example/refunds?order=1" rel="noreferrer noopener nofollow"' in page
    assert [entry.action for entry in Entry.objects.order_by("number")][-3:] == [
        "case.evidence_added", "case.evidence_added", "case.noted",
    ]  # fmt: skip


def test_hidden_characters_of_the_input_are_drawn(browser: Client, cast: Cast) -> None:
    a_tool(cast)
    call = a_waiting_call(cast, input={**INPUT, "note": "twice\u200b <b>only</b>"})
    page = browser.get(url("call", call.pk)).content.decode()
    assert "⟦U+200B⟧" in page and "1 hidden character" in page and "<b>only</b>" not in page


# --- the list --------------------------------------------------------------------------------------------------------


def test_the_three_kinds_of_nothing_differ(browser: Client, cast: Cast, workspace: Any) -> None:
    a_tool(cast)
    assert "No call waits for a person" in text_of(browser.get(url("inbox")))
    a_waiting_call(cast)
    hidden = text_of(browser.get(url("inbox"), {"q": "ORD-9"}))
    assert "1 call waits, none of them matches" in hidden and "search ORD-9" in hidden
    assert "This list cannot be refreshed" in browser.get(url("inbox")).content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "ORD-77"}, True), ({"q": "ord-7781"}, True), ({"q": "5000"}, True), ({"q": "7781"}, False),
        ({"q": "RUN"}, True), ({"q": "KEY"}, True), ({"q": "#1"}, False), ({"q": "' | 'x"}, False), ({"q": "\\"}, False),
        ({"tool": "refund_card"}, True), ({"tool": "wire_payout"}, False), ({"runtime": "checkout-eu-2"}, True),
        ({"runtime": "other"}, False),
        ({"state": "waiting"}, True), ({"state": "claimed"}, False), ({"state": "mine"}, False),
        ({"state": "overdue"}, False), ({"state": "decided"}, False), ({"state": "all"}, True),
        ({"q": "sha256:"}, False), ({"q": "sha256:", "state": "all"}, False), ({"q": "'"}, False), ({"q": "\\"}, False),
    ],
)  # fmt: skip
def test_filters_and_search_stand_in_the_address(
    browser: Client, call: Intent, query: dict[str, str], found: bool
) -> None:
    if query.get("q") == "RUN":
        query = {"q": str(call.run.run_id)[:11]}
    if query.get("q") == "KEY":
        query = {"q": call.idempotency_key[:17]}
    page = browser.get(url("inbox"), query)
    assert page.status_code == 200
    assert (f"row-{call.pk}" in page.content.decode()) is found


@pytest.mark.parametrize(
    "query", [{"state": "odd"}, {"q": "a\0b"}, {"q": "x" * 301}, {"limit": "0"}, {"cursor": "odd"}]
)
def test_an_address_that_says_nothing_known_is_refused(browser: Client, call: Intent, query: dict[str, str]) -> None:
    assert browser.get(url("inbox"), query).status_code == 400


def test_pages_neither_skip_nor_repeat_while_others_answer(browser: Client, cast: Cast, bo: Actor) -> None:
    a_tool(cast)
    calls = [a_waiting_call(cast, input={"order_id": f"ORD-{n}", "amount_cents": 1 + n}) for n in range(5)]
    Intent.objects.update(waits_at=calls[0].waits_at)
    seen: list[str] = []
    address = url("inbox") + "?limit=2"
    while address:
        page = browser.get(address).content.decode()
        seen += re.findall(r'id="row-([0-9a-f-]+)"', page)
        if len(seen) == 2:
            services.abandon_call(intent_id=seen[0], actor=bo, reason="x")  # type: ignore[arg-type]
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = url("inbox") + html.unescape(following[1]) if following else ""
    assert seen == sorted(str(call.pk) for call in calls)


def test_a_likely_duplicate_is_marked_and_listed(browser: Client, cast: Cast, call: Intent) -> None:
    twin = a_waiting_call(cast)
    assert text_of(browser.get(url("inbox"))).count("likely duplicate") == 2
    assert url("call", twin.pk) in browser.get(url("call", call.pk)).content.decode()


def test_a_refresh_tells_what_changed_and_moves_no_row(browser: Client, cast: Cast, call: Intent, bo: Actor) -> None:
    address = url("changes") + f"?rows={call.pk.hex}"
    quiet = browser.get(address, headers={"HX-Request": "true"})
    assert "more" not in text_of(quiet)
    again = browser.get(address, headers={"HX-Request": "true", "If-None-Match": quiet["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    services.claim_case(intent_id=call.pk, actor=bo)
    a_waiting_call(cast, input={"order_id": "ORD-2", "amount_cents": 7})
    changed = browser.get(address, headers={"HX-Request": "true", "If-None-Match": quiet["ETag"]})
    assert changed.status_code == 200 and "1 more here now" in text_of(changed)
    assert (
        f'id="note-{call.pk.hex}" hx-swap-oob="true"' in changed.content.decode()
        and "queue-row" not in changed.content.decode()
    )
    services.abandon_call(intent_id=call.pk, actor=bo, reason="x")
    gone = browser.get(address, headers={"HX-Request": "true"})
    assert "1 of these gone from the list" in text_of(gone) and "Run abandoned by bo" in text_of(gone)


def test_ones_own_answers_are_listed(browser: Client, call: Intent, noor: Actor) -> None:
    assert "You have answered no call yet" in text_of(browser.get(url("history")))
    services.settle_call(intent_id=call.pk, actor=noor, outcome=Outcome.LANDED, output=OUTPUT, reason="Seen it.")
    assert "Seen it." in text_of(browser.get(url("history")))
    assert f"row-{call.pk}" in browser.get(url("inbox"), {"state": "decided"}).content.decode()


# --- the run ---------------------------------------------------------------------------------------------------------


def test_a_runs_page_shows_log_reports_leases_and_folds_to_any_position(
    browser: Client, call: Intent, noor: Actor
) -> None:
    services.settle_call(intent_id=call.pk, actor=noor, outcome=Outcome.LANDED, output=OUTPUT, reason="Seen it.")
    page = browser.get(url("run", call.run.run_id), {"as_of": "1"})
    shown = text_of(page)
    for fact in ("RunStarted", "ToolCallRequested", "ToolCallCompleted", "operator", "Report refused", "released"):
        assert fact in shown
    assert "needs reconciliation" in shown and "Folded from 2 of 3 events" in shown
    for show in ("events", "tools", "beside"):
        assert browser.get(url("run", call.run.run_id), {"show": show}).status_code == 200


@pytest.mark.parametrize(
    "query", [{"as_of": "99"}, {"as_of": "-1"}, {"from": "x"}, {"show": "odd"}, {"as_of": "9" * 30}]
)
def test_a_runs_page_refuses_positions_it_has_not(browser: Client, call: Intent, query: dict[str, str]) -> None:
    assert browser.get(url("run", call.run.run_id), query).status_code == 400


def test_a_run_nobody_knows_is_missing(browser: Client, call: Intent) -> None:
    assert browser.get(url("run", "00000000-0000-0000-0000-000000000000")).status_code == 404


# --- how much it costs -----------------------------------------------------------------------------------------------


def queries(browser: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert browser.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("query", ["", "?state=decided", "?q=ORD", "?state=all", "?state=claimed"])
def test_a_list_costs_as_many_queries_for_ten_rows_as_for_one(
    browser: Client, cast: Cast, bo: Actor, query: str
) -> None:
    a_tool(cast)

    def more(count: int) -> None:
        for n in range(count):
            call = a_waiting_call(cast, input={"order_id": f"ORD-{count}-{n}", "amount_cents": 1 + n})
            if query == "?state=decided":
                services.abandon_call(intent_id=call.pk, actor=bo, reason="x")
            else:
                services.claim_case(intent_id=call.pk, actor=bo)

    more(1)
    one = queries(browser, url("inbox") + query)
    more(9)
    assert queries(browser, url("inbox") + query) == one


def test_a_call_costs_as_many_queries_with_ten_reports_as_with_one(browser: Client, cast: Cast) -> None:
    a_tool(cast)
    driver = a_driver(the_runtime(cast))
    call = driver.ask()
    driver.report({"amount_cents": 1})
    one = queries(browser, url("call", call.pk))
    for n in range(9):
        driver.report({"amount_cents": n})
    assert queries(browser, url("call", call.pk)) == one
