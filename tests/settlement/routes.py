"""Routes of settlement and who may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from salvor_admin.settlement import claims
from salvor_admin.web.clock import database_now
from tests.routes import EVERYBODY, Route
from tests.scene import Scene

NOOR = frozenset({"noor"})


def call(scene: Scene) -> dict[str, Any]:
    return {"intent_id": scene.call.pk}


def claimed(scene: Scene) -> dict[str, Any]:
    claims.claim_case(intent_id=scene.call.pk, actor=scene.cast.actor("noor"))
    return call(scene)


def unknown(scene: Scene) -> dict[str, Any]:
    return {
        "outcome": "still_unknown",
        "reason": "The provider does not answer.",
        "reason_code": "other",
        "look_again_at": (database_now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M"),
        "revision": str(scene.call.revision_id),
    }


def settled(scene: Scene) -> dict[str, Any]:
    return {"intent_id": scene.settled.pk}


SEE_OTHER = 303

ROUTES = [
    Route("settlement:inbox"),
    Route("settlement:changes", is_page=False),
    Route("settlement:history"),
    Route("settlement:call", kwargs=call),
    Route("settlement:receipt", kwargs=settled),
    Route("settlement:claim", "POST", NOOR, call, status=SEE_OTHER),
    Route("settlement:release", "POST", NOOR, claimed, status=SEE_OTHER),
    Route("settlement:hand_over", "POST", NOOR, claimed, lambda scene: {"to": "noor"}, status=400),
    Route("settlement:answer", "POST", NOOR, call, unknown, status=SEE_OTHER),
    Route("settlement:note", "POST", NOOR, call, lambda scene: {"text": "Asked the provider."}, status=SEE_OTHER),
    Route(
        "settlement:evidence",
        "POST",
        NOOR,
        call,
        lambda scene: {"file": SimpleUploadedFile("refund.txt", b"seen", content_type="text/plain")},
        status=SEE_OTHER,
    ),
    # Their own kept words and presence: nobody else's are touched.
    Route("settlement:discard", "POST", EVERYBODY, call, status=SEE_OTHER),
    Route("settlement:activity", "POST", EVERYBODY, call, status=200),
    Route("settlement:evidence_file", kwargs=lambda scene: {"evidence_id": scene.evidence.pk}, is_page=False),
    Route("settlement:run", kwargs=lambda scene: {"run_id": scene.call.run.run_id}),
]
