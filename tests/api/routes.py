"""Routes of api and who may; `tests/api/test_authorisation.py` tries them with tokens."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from salvor_admin.ledger.models import Intent
from salvor_admin.web.clock import database_now
from tests.reviews.factories import refund_card
from tests.routes import Route
from tests.scene import Scene
from tests.settlement.factories import OUTPUT, a_waiting_call

AUTHORS, REVIEWERS, PUBLISHERS, SETTLERS = (frozenset({name}) for name in ("ada", "grace", "pat", "noor"))
#: What a runtime's token may ask for.
RUNTIMES = frozenset({"api:catalogue", "api:calls", "api:call"})


def _request(scene: Scene, which: str = "in_review") -> dict[str, Any]:
    return {"pk": getattr(scene, which).pk}


def _document(scene: Scene) -> dict[str, Any]:
    return {"pk": scene.document.pk}


def _kind(scene: Scene) -> dict[str, Any]:
    return {"kind": "client_tool"}


def _call(scene: Scene) -> dict[str, Any]:
    waiting = Intent.objects.filter(workspace=scene.workspace, standing="open").first()
    return {"pk": (waiting or a_waiting_call(scene.cast)).pk}


def _revision(scene: Scene) -> dict[str, Any]:
    return {"body": refund_card(require_equal=None)}


def _change(scene: Scene) -> dict[str, Any]:
    return {"reason": "Nobody uses it.", "items": [{"document": str(scene.document.pk), "action": "remove"}]}


def _verdict(scene: Scene) -> dict[str, Any]:
    findings = scene.in_review.items.get().revision.findings.filter(severity="block")  # type: ignore[union-attr]
    acknowledged = [{"finding": str(finding.pk), "reason": "Known."} for finding in findings]
    return {"verdict": "approve", "digest": scene.in_review.digest, "acknowledge": acknowledged}


def _landed(scene: Scene) -> dict[str, Any]:
    return {"outcome": "landed", "output": OUTPUT, "reason": "Seen at the provider."}


def _reason(scene: Scene) -> dict[str, Any]:
    return {"reason": "Said so by the provider."}


def _later(scene: Scene) -> dict[str, Any]:
    return {"reason": "No answer yet.", "look_again_at": (database_now() + timedelta(hours=1)).isoformat()}


read = partial(Route, is_page=False)
write = partial(Route, method="POST", is_page=False)

ROUTES = [
    read("api:change_requests"),
    write("api:change_requests", may=AUTHORS, form=_change, status=201),
    read("api:change_request", kwargs=_request),
    write("api:verdicts", may=REVIEWERS, kwargs=_request, form=_verdict),
    write("api:publish", may=PUBLISHERS, kwargs=partial(_request, which="approved")),
    write("api:withdraw", may=AUTHORS, kwargs=_request, form=_reason),
    read("api:calls"),
    read("api:call", kwargs=_call),
    write("api:claim", may=SETTLERS, kwargs=_call),
    # Nobody holds it, so whoever may is told that there is nothing to release.
    write("api:release", may=SETTLERS, kwargs=_call, status=409),
    write("api:settle", may=SETTLERS, kwargs=_call, form=_landed),
    write("api:abandon", may=SETTLERS, kwargs=_call, form=_reason),
    write("api:leave_unknown", may=SETTLERS, kwargs=_call, form=_later),
    read("api:documents"),
    read("api:document", kwargs=_document),
    write("api:revisions", may=AUTHORS, kwargs=_kind, form=_revision, status=201),
    read("api:catalogue"),
    read("api:schema", is_public=True),
    Route("api:docs", is_public=True),
    read("api:unknown", is_public=True, status=404),
]
