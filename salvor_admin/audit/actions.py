"""Every kind of audit entry, with what it says in a sentence. Names are frozen once released."""

from __future__ import annotations

from typing import Final

ACTIONS: Final[dict[str, str]] = {
    "workspace.created": "made this workspace",
    "person.created": "added a person",
    "person.roles_changed": "changed what a person may do here",
    "person.deactivated": "deactivated a person",
    "person.reactivated": "let a person back in",
    "person.password_changed": "chose a new password",
    "person.password_reset": "gave a person a new one-time password",
    "person.signed_in": "signed in",
    "person.signed_out": "signed out",
    "personal_token.created": "made a personal token",
    "personal_token.revoked": "revoked a personal token",
    "runtime.registered": "registered a runtime",
    "runtime.changed": "changed a runtime",
    "runtime_token.created": "made a runtime token",
    "runtime_token.revoked": "revoked a runtime token",
    "revision.saved": "saved a revision",
    "change_request.opened": "opened a change request",
    "change_request.submitted": "submitted a change request",
    "change_request.revised": "changed what a change request holds",
    "change_request.verdict_given": "gave a verdict",
    "change_request.withdrawn": "withdrew a change request",
    "change_request.commented": "commented on a change request",
    "change_request.published": "published a change request",
    "change_request.after_review_closed": "closed the review of an emergency revoke",
    "document.revoked": "revoked a document at once",
    "document.suspended": "suspended a document",
    "document.resumed": "ended a suspension",
    "case.claimed": "claimed a case",
    "case.released": "released a case",
    "case.handed_over": "handed a case over",
    "case.settled": "settled a call",
    "case.abandoned": "abandoned a run",
    "case.still_unknown": "left a call unsettled",
    "case.noted": "wrote a note",
    "case.evidence_added": "added evidence",
    "case.decided": "answered a held call",
}
