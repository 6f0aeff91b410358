"""Routes of the catalogue and who may."""

from __future__ import annotations

from tests.reviews.factories import REFUND_CARD
from tests.routes import Route

ADA, ROOT = frozenset({"ada"}), frozenset({"root"})

ROUTES = [
    Route("catalogue:tools"),
    Route("catalogue:new_tool"),
    Route(
        "catalogue:new_tool",
        "POST",
        ADA,
        form=lambda scene: {"toml": REFUND_CARD.decode().replace("refund_card", "refund_cash")},
    ),
    Route("catalogue:export_all", is_page=False),
    Route("catalogue:export_one", kwargs=lambda scene: {"document_id": scene.document.pk}, is_page=False),
    Route("catalogue:check", "POST", form=lambda scene: {"toml": REFUND_CARD.decode()}, status=200),
    Route("catalogue:import"),
    Route("catalogue:import", "POST", status=422),
    Route("catalogue:document", kwargs=lambda scene: {"document_id": scene.document.pk}),
    Route("catalogue:edit_tool", kwargs=lambda scene: {"document_id": scene.document.pk}),
    Route(
        "catalogue:edit_tool",
        "POST",
        ADA,
        lambda scene: {"document_id": scene.document.pk},
        lambda scene: {"toml": REFUND_CARD.decode().replace("minimum = 1", "minimum = 2")},
    ),
    Route(
        "catalogue:propose",
        "POST",
        ADA,
        lambda scene: {"document_id": scene.document.pk},
        lambda scene: {"action": "remove", "reason": "Not needed."},
    ),
    Route(
        "catalogue:revoke",
        "POST",
        ROOT,
        lambda scene: {"document_id": scene.document.pk},
        lambda scene: {"typed_name": "refund_card", "reason": "Doubled refunds."},
    ),
]
