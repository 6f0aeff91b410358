"""Every way a page can fail is told in words, with a stable code, as a page and as a fragment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import Client

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web import surfaces

pytestmark = pytest.mark.urls("tests.web.urls")

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/w/payments-eu/inbox/?tool=refund_card"}


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def text(response: Any) -> str:
    return str(response.content.decode())


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("bad_request", 400), ("not_allowed", 403), ("own_revision", 403), ("not_found", 404), ("wrong_state", 409),
        ("stale_digest", 412), ("payload_too_large", 413), ("finding_unacknowledged", 422), ("rate_limited", 429),
    ],
)  # fmt: skip
def test_a_refusal_becomes_a_page_with_its_code_and_status(client: Client, code: str, status: int) -> None:
    response = client.get(f"/refuse/{code}/")
    assert response.status_code == status
    assert f"<code>{code}</code>" in text(response)
    assert text(response).count("<h1>") == 1
    assert "Nothing was written." in text(response)


def test_a_refusals_words_are_text_with_hidden_characters_drawn(client: Client) -> None:
    page = text(client.get("/refuse/wrong_state/"))
    assert "The box &lt;b&gt;7&lt;/b&gt; is shut" in page
    assert '<span class="codepoint" title="zero width space">⟦U+200B⟧</span>; ask Grace to open it.' in page


def test_a_refused_fragment_goes_to_the_pages_notices_and_nowhere_else(client: Client) -> None:
    response = client.get("/refuse/wrong_state/", headers=HTMX)
    assert response.status_code == 409
    assert "<html" not in text(response)
    assert "<code>wrong_state</code>" in text(response)
    assert (response["HX-Retarget"], response["HX-Reswap"], response["HX-Reselect"]) == (
        "#notices",
        "innerHTML",
        "unset",
    )
    assert (response["HX-Push-Url"], response["HX-Replace-Url"]) == ("false", "false")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere/", 404, "unknown_path"),
        ("/missing/", 404, "not_found"),
        ("/forbidden/", 403, "not_allowed"),
        ("/broken/", 500, "internal"),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_what_django_raises_is_told_in_the_same_form(
    client: Client, path: str, status: int, code: str, headers: dict[str, str]
) -> None:
    response = client.get(path, headers=headers)
    assert response.status_code == status
    assert f"<code>{code}</code>" in text(response)
    assert response.has_header("HX-Retarget") == bool(headers)


def test_a_mistake_of_ours_shows_nothing_of_the_inside(client: Client) -> None:
    assert "secret of the inside" not in text(client.get("/broken/"))


def test_after_a_broken_post_the_outcome_is_called_unknown(client: Client) -> None:
    assert "look at it anew" in text(client.post("/broken/", {"a": "typed words"}))
    assert "typed words" in text(client.post("/broken/", {"a": "typed words"}))
    assert "look at it anew" not in text(client.get("/broken/"))


def test_a_method_an_address_does_not_take_is_a_page_that_keeps_the_header(client: Client) -> None:
    response = client.post("/read-only/", {"a": "1"})
    assert (response.status_code, response["Allow"]) == (405, "GET")
    assert "<code>method_not_allowed</code>" in text(response)


def test_too_large_a_form_is_413_and_too_many_fields_are_400(client: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = client.post("/fields/", {"a": "x" * 2000})
    assert (response.status_code, "<code>payload_too_large</code>" in text(response)) == (413, True)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10**6
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 5
    response = client.post("/fields/", {f"f{n}": "x" for n in range(9)})
    assert (response.status_code, "<code>bad_request</code>" in text(response)) == (400, True)


def test_too_large_a_form_is_413_before_the_csrf_check_as_well(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    strict.cookies["csrftoken"] = "a" * 32
    assert strict.post("/fields/", {"a": "x" * 2000}).status_code == 413


@pytest.mark.parametrize("enforced", [True, False], ids=["at the CSRF check", "in the view"])
def test_a_form_in_another_encoding_is_400_and_the_page_about_it_can_be_drawn(enforced: bool) -> None:
    browser = Client(enforce_csrf_checks=enforced, raise_request_exception=False)
    browser.cookies["csrftoken"] = "a" * 32
    response = browser.post("/fields/", b"a=1", content_type="application/x-www-form-urlencoded; charset=utf-16")
    assert (response.status_code, "<code>bad_request</code>" in text(response)) == (400, True)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_a_form_from_before_the_sign_in_is_refused_as_stale(headers: dict[str, str]) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post("/fields/", {"reason": "five words that were typed", "password": "hidden"}, headers=headers)
    assert response.status_code == 403
    assert "<code>stale_form</code>" in text(response)
    assert "data-reload" in text(response) if headers else "five words that were typed" in text(response)
    assert "hidden" not in text(response).replace('aria-hidden="true"', "")


def test_typed_text_is_shown_back_escaped_and_files_by_name(client: Client) -> None:
    response = client.post(
        "/open/refuse/wrong_state/",
        {"why": "</textarea><script>a()</script>", "file": SimpleUploadedFile("refund_card.toml", b"x")},
        headers={"Referer": "http://testserver/w/payments-eu/import/"},
    )
    page = text(response)
    assert "&lt;/textarea&gt;&lt;script&gt;a()&lt;/script&gt;</textarea>" in page
    assert "refund_card.toml" in page
    assert 'href="/w/payments-eu/import/">Back to the page</a>' in page


def test_an_ended_session_sends_a_page_to_sign_in_with_the_way_back(client: Client) -> None:
    response = client.get("/private/?a=1&b=2")
    assert (response.status_code, response["Location"]) == (302, "/sign-in/?next=%2Fprivate%2F%3Fa%3D1%26b%3D2")


def test_an_ended_session_never_puts_a_sign_in_form_into_a_fragment(client: Client) -> None:
    response = client.post("/private/", headers=HTMX)
    assert (response.status_code, response.content) == (401, b"")
    assert response["HX-Redirect"] == "/sign-in/?next=%2Fw%2Fpayments-eu%2Finbox%2F%3Ftool%3Drefund_card"


@pytest.mark.parametrize(
    "elsewhere",
    ["http://evil.example/x", "//evil.example/x", "javascript:alert(1)", "http://testserver//evil.example", "/\\evil"],
)
def test_the_way_back_never_leads_to_another_site(client: Client, elsewhere: str) -> None:
    response = client.get("/private/", headers={**HTMX, "HX-Current-URL": elsewhere})
    assert response["HX-Redirect"] == "/sign-in/"


def test_what_was_typed_when_the_session_ended_is_shown_back(client: Client) -> None:
    response = client.post("/private/", {"reason": "seen at the provider"})
    assert response.status_code == 401
    assert "seen at the provider" in text(response)
    assert 'href="/sign-in/' in text(response)


def test_history_asks_for_the_whole_page_and_htmx_for_its_part(client: Client) -> None:
    assert "<html" not in text(client.get("/whole/", headers=HTMX))
    assert "<html" in text(client.get("/whole/", headers={**HTMX, "HX-History-Restore-Request": "true"}))
    assert "<html" in text(client.get("/whole/", headers={**HTMX, "HX-Boosted": "true"}))
    assert "HX-Request" in client.get("/whole/")["Vary"]


def test_pages_are_kept_out_of_shared_caches_and_typed(client: Client) -> None:
    response = client.get("/whole/")
    assert response["Cache-Control"] == "private, no-cache"
    assert response["X-Content-Type-Options"] == "nosniff"
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_an_unchanged_fragment_costs_no_body_the_second_time(client: Client) -> None:
    first = client.get("/whole/", headers=HTMX)
    again = client.get("/whole/", headers={**HTMX, "If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert not client.get("/whole/").has_header("ETag")


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def respond(request: HttpRequest, refusal: Refusal, status: int) -> HttpResponse:
        return JsonResponse({"error": {"code": refusal.code}}, status=status)

    monkeypatch.setattr(surfaces, "_surfaces", {"/apart/": respond})
    yield


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/apart/nowhere", 404, "unknown_path"), ("/apart/refuse/lease_held/", 409, "lease_held")],
)
def test_a_surface_of_its_own_answers_in_its_own_form(
    apart: None, client: Client, path: str, status: int, code: str
) -> None:
    response = client.get(path)
    assert (response.status_code, response.json()) == (status, {"error": {"code": code}})
    assert client.get("/apart/here/").has_header("Cache-Control") is False
