"""Routes of settlement and who may."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from salvor_admin.settlement import claims
from tests.routes import EVERYBODY, Route
from tests.scene import Scene

NOOR = frozenset({"noor"})


def call(scene: Scene) -> dict[str, Any]:
    return {"intent_id": scene.call.pk}


def claimed(scene: Scene) -> dict[str, Any]:
    claims.claim_case(intent_id=scene.call.pk, actor=scene.cast.actor("noor"))
    return call(scene)


def unknown(scene: Scene) -> dict[str, Any]:
    return {"outcome": "still_unknown", "reason": "The provider does not answer."}


ROUTES = [
    Route("settlement:inbox"),
    Route("settlement:changes", is_page=False),
    Route("settlement:history"),
    Route("settlement:call", kwargs=call),
    Route("settlement:receipt", kwargs=call),
    Route("settlement:claim", "POST", NOOR, call),
    Route("settlement:release", "POST", NOOR, claimed),
    Route("settlement:hand_over", "POST", NOOR, claimed, lambda scene: {"to": "noor"}, status=409),
    Route("settlement:answer", "POST", NOOR, call, unknown),
    Route("settlement:note", "POST", NOOR, call, lambda scene: {"text": "Asked the provider."}),
    Route(
        "settlement:evidence",
        "POST",
        NOOR,
        call,
        lambda scene: {"file": SimpleUploadedFile("refund.txt", b"seen", content_type="text/plain")},
    ),
    Route("settlement:discard", "POST", NOOR, call),
    Route("settlement:activity", "POST", EVERYBODY, call, status=200),
    Route("settlement:evidence_file", kwargs=lambda scene: {"evidence_id": scene.evidence.pk}, is_page=False),
    Route("settlement:run", kwargs=lambda scene: {"run_id": scene.call.run.run_id}),
]
