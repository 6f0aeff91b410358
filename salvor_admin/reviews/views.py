"""The desk of reviews: what waits, one change request, and every verb on it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews import access, presenting, publishing, selectors, services
from salvor_admin.reviews.models import ChangeRequest, Comment, Publication
from salvor_admin.web import pagination

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
    rows = selectors.change_requests(actor.workspace_id, states=chips[chosen])
    page = pagination.keyset_page(
        rows, ["-number", "id"], cursor=request.GET.get("cursor"), limit=pagination.DEFAULT_LIMIT
    )
    return render(
        request,
        "reviews/list.html",
        {
            "actor": actor,
            "page": page,
            "rows": [(row, presenting.stamp(row)) for row in page.rows],
            "chips": [(key, label) for key, label, _ in STATE_CHIPS],
            "chosen": chosen,
            "next_step": {state.value: words for state, words in review.NEXT_STEP.items()},
        },
    )


@require_safe
@in_workspace
def change_request(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    """One change request: read on the left, decide on the right."""
    found = access.change_request(actor, request_id)
    return _page(request, actor, found)


def _page(request: HttpRequest, actor: Actor, found: ChangeRequest) -> HttpResponse:
    detail = selectors.detail(found)
    views = presenting.items(detail)
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
            "blocking": [finding for finding in detail.findings if finding.severity == "block"],
            "acknowledgements": detail.acknowledgements,
            "verdicts": presenting.verdicts(detail),
            "deciders": presenting.deciders(detail, actor),
            "verbs": presenting.verbs(detail, actor),
            "approvals": review.standing_approvals(detail.facts),
            "comments": Comment.objects.filter(request=found).select_related("person").order_by("written_at", "pk"),
            "publication": Publication.objects.filter(request=found).select_related("published_by").first(),
            "next_step": review.NEXT_STEP[review.State(found.state)],
            "is_open": found.state in review.OPEN,
        },
    )


def _back(actor: Actor, request_id: UUID) -> HttpResponse:
    return redirect("reviews:change_request", workspace=actor.workspace_key, request_id=request_id)


@require_POST
@in_workspace
def submit(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    row = services.submit(request_id=request_id, actor=actor, reason=request.POST.get("reason", ""))
    messages.success(request, f"CR-{row.number} is in review. Whoever wrote none of it may decide.")
    return _back(actor, request_id)


@require_POST
@in_workspace
def verdict(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    """A verdict on the digest that the page showed; each blocking finding acknowledged in its own field."""
    try:
        said = review.Verdict(request.POST.get("verdict", ""))
    except ValueError:
        raise Refusal("bad_request", "Choose approve, request changes or reject.", place="verdict") from None
    prefix = "acknowledge-"
    row = services.give_verdict(
        request_id=request_id,
        actor=actor,
        verdict=said,
        digest=request.POST.get("digest", ""),
        reason=request.POST.get("reason", ""),
        acknowledge={name.removeprefix(prefix): request.POST[name] for name in request.POST if name.startswith(prefix)},
    )
    words = {"approve": "approved", "request_changes": "sent back", "reject": "rejected"}[said.value]
    messages.success(
        request, f"CR-{row.number} {words}: your verdict is bound to {row.digest[7:11]} {row.digest[11:15]}."
    )
    return _back(actor, request_id)


@require_POST
@in_workspace
def publish(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    publication = publishing.publish(request_id=request_id, actor=actor, digest=request.POST.get("digest", ""))
    messages.success(request, f"Live as publication {publication.number}. Runtimes see it at their next read.")
    return _back(actor, request_id)


@require_POST
@in_workspace
def withdraw(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    row = services.withdraw(request_id=request_id, actor=actor, reason=request.POST.get("reason", ""))
    messages.success(request, f"CR-{row.number} is withdrawn.")
    return _back(actor, request_id)


@require_POST
@in_workspace
def comment(request: HttpRequest, actor: Actor, request_id: UUID) -> HttpResponse:
    services.comment(request_id=request_id, actor=actor, text=request.POST.get("text", ""))
    return _back(actor, request_id)
