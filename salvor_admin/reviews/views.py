"""The desk of reviews: what waits, one change request, and every verb on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from salvor_admin.domain import review
from salvor_admin.domain.findings.finding import RULE_SET
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews import access, history, presenting, publishing, selectors, services
from salvor_admin.reviews.models import ChangeRequest, Publication, Revision
from salvor_admin.web import pagination
from salvor_admin.web.statuses import status_of

ACKNOWLEDGE = "acknowledge-"

STATE_CHIPS = [
    ("open", "Open", [state.value for state in sorted(review.OPEN)]),
    ("in_review", "In review", ["in_review"]),
    ("approved", "Approved", ["approved"]),
    ("closed", "Closed", [state.value for state in sorted(review.FINAL)]),
]


@require_safe
@in_workspace
def change_requests(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Change requests, newest first; the filter stands in the address."""
    chosen = request.GET.get("state", "open")
    chips = {key: states for key, _, states in STATE_CHIPS}
    if chosen not in chips:
        raise Refusal("bad_request", f"There is no filter {chosen!r} here; use {', '.join(chips)}.", place="state")
    rows = selectors.change_requests(actor.workspace_id, states=chips[chosen]).prefetch_related("items__document")
    page = pagination.keyset_page(
        rows, ["-number", "id"], cursor=request.GET.get("cursor"), limit=pagination.DEFAULT_LIMIT
    )
    return render(
        request,
        "reviews/list.html",
        {
            "actor": actor,
            "page": page,
            "rows": [(row, presenting.stamp(row), review.NEXT_STEP[review.State(row.state)]) for row in page.rows],
            "chips": [(key, label) for key, label, _ in STATE_CHIPS],
            "chosen": chosen,
        },
    )


@require_safe
@in_workspace
def change_request(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    """One change request: read on the left, decide on the right."""
    return _page(request, actor, access.change_request(actor, request_id))


def _page(request: HttpRequest, actor: Actor, found: ChangeRequest, *, refusal: Refusal | None = None) -> HttpResponse:
    detail = selectors.detail(found)
    views = presenting.items(detail)
    acknowledged = {str(said.finding_id) for said in detail.acknowledgements}
    return render(
        request,
        "reviews/change_request.html",
        {
            "actor": actor,
            "request_row": found,
            "stamp": presenting.stamp(found),
            "items": views,
            "tally": presenting.tally(views),
            "findings": detail.findings,
            "rule_set": max((finding.rule_set for finding in detail.findings), default=RULE_SET),
            "blocking": [
                (finding, request.POST.get(f"{ACKNOWLEDGE}{finding.pk}", ""))
                for finding in detail.findings
                if finding.severity == "block"
            ],
            "acknowledgements": detail.acknowledgements,
            "unacknowledged": [
                finding
                for finding in detail.findings
                if finding.severity == "block" and str(finding.pk) not in acknowledged
            ],
            "history": history.of(detail),
            "deciders": presenting.deciders(detail, actor),
            "verbs": presenting.verbs(detail, actor),
            "approvals": review.standing_approvals(detail.facts),
            "publication": Publication.objects.filter(request=found).select_related("published_by").first(),
            "next_step": review.NEXT_STEP[review.State(found.state)],
            "is_open": found.state in review.OPEN,
            "seen": presenting.seen_mark(detail),
            "since": presenting.since(detail, request.POST.get("seen", "")) if refusal else [],
            "refusal": refusal,
            "typed": request.POST if refusal else {},
        },
        status=status_of(refusal.code) if refusal else 200,
    )


def _verb(
    act: Callable[[HttpRequest, Actor, UUID], None],
) -> Callable[..., HttpResponse]:
    """A verb on a change request: done, the page follows; refused, the page is shown anew with what was typed."""

    @require_POST
    @in_workspace
    @wraps(act)
    def view(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
        found = access.change_request(actor, request_id)
        try:
            act(request, actor, request_id)
        except Refusal as refusal:
            found.refresh_from_db()
            return _page(request, actor, found, refusal=refusal)
        return redirect("reviews:change_request", workspace=actor.workspace_key, request_id=request_id)

    return view


@_verb
def submit(request: HttpRequest, actor: Actor, request_id: UUID) -> None:
    row = services.submit(request_id=request_id, actor=actor, reason=request.POST.get("reason", ""))
    messages.success(request, f"CR-{row.number} is in review. Whoever wrote none of it may decide.")


@_verb
def verdict(request: HttpRequest, actor: Actor, request_id: UUID) -> None:
    """A verdict on the digest that the page showed; each blocking finding acknowledged in its own field."""
    try:
        said = review.Verdict(request.POST.get("verdict", ""))
    except ValueError:
        raise Refusal("bad_request", "Choose approve, request changes or reject.", place="verdict") from None
    row = services.give_verdict(
        request_id=request_id,
        actor=actor,
        verdict=said,
        digest=request.POST.get("digest", ""),
        reason=request.POST.get("reason", ""),
        acknowledge={
            name.removeprefix(ACKNOWLEDGE): request.POST[name] for name in request.POST if name.startswith(ACKNOWLEDGE)
        },
    )
    words = {"approve": "approved", "request_changes": "sent back", "reject": "rejected"}[said.value]
    messages.success(
        request, f"CR-{row.number} {words}: your verdict is bound to {row.digest[7:11]} {row.digest[11:15]}."
    )


@_verb
def publish(request: HttpRequest, actor: Actor, request_id: UUID) -> None:
    digest = request.POST.get("digest", "")
    publication = publishing.publish(request_id=request_id, actor=actor, digest=digest)
    messages.success(
        request,
        f"{digest[7:11]} {digest[11:15]} is live as publication {publication.number}. Runtimes see it at their next read.",
    )


@_verb
def withdraw(request: HttpRequest, actor: Actor, request_id: UUID) -> None:
    row = services.withdraw(request_id=request_id, actor=actor, reason=request.POST.get("reason", ""))
    messages.success(request, f"CR-{row.number} is withdrawn.")


@_verb
def comment(request: HttpRequest, actor: Actor, request_id: UUID) -> None:
    services.comment(request_id=request_id, actor=actor, text=request.POST.get("text", ""))


@require_safe
@in_workspace
def revision_text(request: HttpRequest, actor: Actor, document_id: UUID, number: int) -> HttpResponse:
    """The exact text of a revision, byte for byte what its digest is over."""
    document = access.document(actor, document_id)
    revision = Revision.objects.filter(document=document, number=number).first() if number < 2**31 else None
    if revision is None:
        raise Refusal("not_found", "There is no such revision of this document.")
    response = HttpResponse(revision.body.encode(), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{document.pk}-{number}.json"'
    return response
