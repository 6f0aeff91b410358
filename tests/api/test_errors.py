"""Whatever is sent, the answer is a refusal in the envelope, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.access import Actor
from salvor_admin.reviews import selectors
from salvor_admin.reviews.models import Document, Revision
from tests.api.callers import Caller, as_person, told
from tests.reviews.factories import a_submitted_change

pytestmark = pytest.mark.django_db

REVISIONS = "/api/documents/client_tool/revisions/"
LIST = "/api/change-requests/"


@pytest.fixture
def caller(ada: Actor) -> Caller:
    return as_person(ada)


# Each row a body as it comes in (field reports 68, 69, 71, 106 to 109), and where it is refused.
MALFORMED: list[tuple[bytes, tuple[int, str], str | None]] = [
    (b"{", (400, "bad_request"), ""),
    (b"[]", (400, "bad_request"), ""),
    (b"null", (400, "bad_request"), ""),
    (b'"text"', (400, "bad_request"), ""),
    (b'{"body":{}} trailing', (400, "bad_request"), ""),
    (b"\xef\xbb\xbf{}", (400, "bad_request"), ""),
    (b'{"body":"\xff"}', (400, "bad_request"), ""),
    (b'{"body":NaN}', (400, "bad_request"), "/body"),
    (b'{"body":{"a":-Infinity}}', (400, "bad_request"), "/body/a"),
    (b'{"body":{"a":1e400}}', (400, "bad_request"), "/body/a"),
    (b'{"body":{"a":' + b"9" * 5000 + b"}}", (400, "bad_request"), "/body/a"),
    (b'{"body":{"amount":1,"amount":1000}}', (400, "bad_request"), "/body/amount"),
    (b'{"body":{},"body":{}}', (400, "bad_request"), "/body"),
    (b'{"body":{"a":"\\ud83d"}}', (422, "unstorable_text"), "/body/a"),
    (b'{"body":{"a":"a\\u0000b"}}', (422, "unstorable_text"), "/body/a"),
    (b'{"body":{"a\\u0000b":1}}', (422, "unstorable_text"), "/body"),
    (b'{"body":' + b"[" * 64 + b"]" * 64 + b"}", (400, "bad_request"), None),
    (b"[" * 20_000 + b"]" * 20_000, (400, "bad_request"), None),
]


@pytest.mark.parametrize(("raw", "code", "place"), MALFORMED)
def test_a_body_that_cannot_be_read_is_refused_at_its_place(
    caller: Caller, raw: bytes, code: tuple[int, str], place: str | None
) -> None:
    response = caller.post(REVISIONS, raw=raw)
    assert told(response) == code
    if place is not None:
        assert response.json()["error"]["details"]["place"] == place
    assert (Revision.objects.count(), Document.objects.count()) == (0, 0)


def test_an_escaped_backslash_is_no_nul(caller: Caller) -> None:
    response = caller.post(REVISIONS, raw=b'{"body":{"name":"a\\\\u0000b"}}')
    assert told(response) == (422, "missing_key")


def test_a_body_beyond_the_limit_is_413_in_the_envelope(caller: Caller) -> None:
    response = caller.post(REVISIONS, raw=b'{"body":"' + b"x" * 3_000_000 + b'"}')
    assert told(response) == (413, "payload_too_large")
    assert response.json()["error"]["details"] == {"limit": 2 * 1024 * 1024}
    assert Revision.objects.count() == 0


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_a_body_that_is_not_json_by_its_type_is_415(caller: Caller, content_type: str) -> None:
    response = caller.send("POST", REVISIONS, b'{"body":{}}', content_type)
    assert told(response) == (415, "unsupported_media_type")


def test_json_with_a_charset_is_json(caller: Caller) -> None:
    response = caller.send("POST", REVISIONS, b'{"body":[]}', "application/json; charset=utf-8")
    assert told(response) == (422, "wrong_type")


def test_an_empty_body_lacks_what_is_needed(caller: Caller) -> None:
    assert told(caller.send("POST", REVISIONS, b"", "application/json")) == (400, "bad_request")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_a_method_that_is_none_here_is_405_with_those_that_are(caller: Caller, method: str) -> None:
    response = caller.send(method, LIST, b"", "application/json")
    assert told(response) == (405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD, POST"


def test_an_answer_that_cannot_be_given_in_the_wanted_form_is_406(caller: Caller) -> None:
    assert told(caller.get(LIST, Accept="text/html")) == (406, "not_acceptable")


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/nothing/",
        "/api/change-requests",
        "/api/change-requests/7/",
        "/api/change-requests/208/verdicts/",
        "/api/documents/client_tool/",
        "/api/%00/",
    ],
)
def test_an_address_that_is_none_is_404_in_the_envelope(caller: Caller, path: str) -> None:
    assert told(caller.get(path)) == (404, "unknown_path")
    assert told(caller.post(path)) == (404, "unknown_path")


def test_a_mistake_of_ours_is_500_in_the_envelope(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(selectors, "change_requests", broken)
    caller.client.raise_request_exception = False
    assert told(caller.get(LIST)) == (500, "internal")


def test_a_refusal_carries_its_details_and_its_place(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **kwargs: Any) -> None:
        raise Refusal("wrong_state", "Not now.", place="/x", details={"holder": "noor"})

    monkeypatch.setattr(selectors, "change_requests", refused)
    assert json.loads(caller.get(LIST).content) == {
        "error": {"code": "wrong_state", "message": "Not now.", "details": {"holder": "noor", "place": "/x"}}
    }


def test_a_head_request_reads_and_a_get_never_decides(caller: Caller, ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    reader = as_person(grace)
    assert reader.send("HEAD", LIST, b"", "").status_code == 200
    for verb in ("verdicts", "publish", "withdraw"):
        assert told(reader.get(f"{LIST}{request.pk}/{verb}/")) == (405, "method_not_allowed")
    request.refresh_from_db()
    assert request.state == "in_review"


def test_every_answer_is_taken_for_what_it_is_and_sets_no_cookie(caller: Caller) -> None:
    for response in (caller.get(LIST), caller.get("/api/nothing/"), Caller(None).get(LIST)):
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert not response.cookies


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json;q=0.5, text/html", "application/*"])
def test_whoever_takes_json_gets_it(caller: Caller, accept: str) -> None:
    assert caller.get(LIST, Accept=accept)["Content-Type"] == "application/json"
