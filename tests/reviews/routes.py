"""Routes of reviews and who may."""

from __future__ import annotations

from tests.routes import Route

ADA, GRACE, PAT = frozenset({"ada"}), frozenset({"grace"}), frozenset({"pat"})

ROUTES = [
    Route("reviews:list"),
    Route("reviews:change_request", kwargs=lambda scene: {"request_id": scene.in_review.pk}),
    Route(
        "reviews:submit",
        "POST",
        ADA,
        lambda scene: {"request_id": scene.draft.pk},
        lambda scene: {"reason": "Stock for agents."},
    ),
    Route(
        "reviews:verdict",
        "POST",
        GRACE,
        lambda scene: {"request_id": scene.in_review.pk},
        lambda scene: {"verdict": "approve", "digest": scene.in_review.digest},
    ),
    Route(
        "reviews:publish",
        "POST",
        PAT,
        lambda scene: {"request_id": scene.approved.pk},
        lambda scene: {"digest": scene.approved.digest},
    ),
    Route(
        "reviews:withdraw",
        "POST",
        ADA,
        lambda scene: {"request_id": scene.in_review.pk},
        lambda scene: {"reason": "Not now."},
    ),
    Route(
        "reviews:comment",
        "POST",
        kwargs=lambda scene: {"request_id": scene.in_review.pk},
        form=lambda scene: {"text": "Looked at it."},
    ),
    Route(
        "reviews:revision_text",
        kwargs=lambda scene: {"document_id": scene.document.pk, "number": 1},
        is_page=False,
    ),
]
