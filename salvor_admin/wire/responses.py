"""How `/v1` answers: compact JSON with its keys in alphabetical order, and one envelope for every refusal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from salvor_admin.domain import canonical, instants
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger.selectors import RecordedEvent, RunView
from salvor_admin.web.statuses import status_of

#: Only these say more than a message (contract 10.2).
_TELLS_DETAILS: Final = frozenset({"needs_reconciliation", "lease_held", "still_sleeping"})


def answer(text: str, status: int = 200) -> HttpResponse:
    """A JSON text as it stands."""
    response = HttpResponse(text.encode(), content_type="application/json", status=status)
    _keep_to_ourselves(response)
    return response


def answer_json(value: Json, status: int = 200) -> HttpResponse:
    return answer(canonical.text(value), status)


def answer_parts(parts: Iterable[str], status: int = 200, content_type: str = "application/json") -> HttpResponseBase:
    """A text sent piece by piece, so that no whole of it stands in memory."""
    response = StreamingHttpResponse((part.encode() for part in parts), content_type=content_type, status=status)
    _keep_to_ourselves(response)
    return response


def refuse(refusal: Refusal) -> HttpResponse:
    """The error envelope, with the status of the refusal's code."""
    error: dict[str, Json] = {"code": refusal.code, "message": refusal.message}
    if refusal.details and refusal.code in _TELLS_DETAILS:
        error["details"] = refusal.details
    response = answer_json({"error": error}, status_of(refusal.code))
    if refusal.code == "unauthorized":
        response["WWW-Authenticate"] = "Bearer"
    return response


def without_body(response: HttpResponseBase) -> HttpResponseBase:
    """The same answer to HEAD: its status and headers alone."""
    return HttpResponse(status=response.status_code, headers=dict(response.items()))


def _keep_to_ourselves(response: HttpResponseBase) -> None:
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"


# --- shapes ----------------------------------------------------------------------------------------------------------


def envelope(run_id: str, event: RecordedEvent) -> str:
    """One stored event, keys in alphabetical order."""
    at = instants.from_datetime(event.recorded_at).text
    return (
        f'{{"event":{{"kind":"{event.kind}","payload":{event.payload}}},"recorded_at":"{at}",'
        f'"run_id":"{run_id}","schema_version":1,"seq":{event.seq}}}'
    )


def streamed_envelope(run_id: str, event: RecordedEvent) -> str:
    """One stored event as a stream sends it: keys in the order of contract 3.1 and 3.2."""
    at = instants.from_datetime(event.recorded_at).text
    return (
        f'{{"run_id":"{run_id}","seq":{event.seq},"schema_version":1,"recorded_at":"{at}",'
        f'"event":{{"kind":"{event.kind}","payload":{event.as_domain().ordered_payload_text()}}}}}'
    )


def joined(before: str, items: Iterable[str], after: str) -> Iterator[str]:
    """A JSON array's text around its items."""
    yield before
    for at, item in enumerate(items):
        yield item if at == 0 else f",{item}"
    yield after


def usage(view: RunView) -> dict[str, int]:
    return {"input_tokens": view.head.input_tokens, "output_tokens": view.head.output_tokens}


def detail(view: RunView) -> dict[str, Json]:
    """A run as `GET /v1/runs/{id}` shows it (contract 6.12)."""
    members = _shared(view)
    members["pending"] = view.pending
    return members


def summary(view: RunView) -> str:
    """A run as `GET /v1/runs` lists it (contract 6.11)."""
    members = _shared(view) | {"step_count": view.head.step_count}
    if view.agent_def_hash is not None:
        members["agent_def_hash"] = json.loads(view.agent_def_hash)
    if view.labels is not None:
        members["labels"] = json.loads(view.labels)
    return canonical.text(members)


def replay(view: RunView) -> dict[str, Json]:
    """The pure fold (contract 6.12)."""
    return {
        "next_seq": view.head.next_seq,
        "pending": view.pending,
        "status": view.status,
        "usage": usage(view),
    }


def _shared(view: RunView) -> dict[str, Json]:
    members: dict[str, Json] = {
        "event_count": view.head.next_seq,
        "first_recorded_at": instants.from_datetime(view.first_recorded_at).text,
        "last_recorded_at": instants.from_datetime(view.last_recorded_at).text,
        "run": view.run_id,
        "status": view.status,
        "usage": usage(view),
    }
    if view.driver is not None:
        members["driver"] = view.driver
    return members
