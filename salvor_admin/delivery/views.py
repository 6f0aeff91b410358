"""The page where a person chooses what they hear by mail. Links of mails lead to other pages, and decide nothing."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from salvor_admin.delivery import selectors, services
from salvor_admin.delivery.forms import MailForm
from salvor_admin.delivery.models import MailPreference
from salvor_admin.domain.mailing import DEFAULTS
from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace


@require_http_methods(["GET", "HEAD", "POST"])
@in_workspace
def mail(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What one hears, how soon and where; and what was sent of late."""
    if request.method == "POST":
        form = MailForm(request.POST)
        if form.is_valid():
            services.choose_mail(actor=actor, address=form.cleaned_data["address"], modes=form.modes)
            messages.success(request, "Your choice is kept; it holds for everything from now on.")
            return redirect("delivery:mail", workspace=actor.workspace_key)
    else:
        form = MailForm(initial=_initial(selectors.preference_of(actor)))
    return render(
        request,
        "delivery/mail.html",
        {
            "actor": actor,
            "form": form,
            "known_address": actor.person.email,
            "digest_hour": f"{settings.DIGEST_HOUR:02}:00 UTC",
            "sent": selectors.latest_of(actor),
            "parked": selectors.parked(actor.workspace_id) if actor.has(Role.ADMIN) else None,
        },
        status=422 if form.errors else 200,
    )


def _initial(preference: MailPreference) -> dict[str, str]:
    return {"address": preference.address, **{group.value: getattr(preference, group.value) for group in DEFAULTS}}


@require_POST
@in_workspace
def retry(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Parked mail goes back into the queue."""
    number = services.retry_parked(actor=actor)
    messages.success(request, f"{number} back in the queue; what fails again is parked again.")
    return redirect("delivery:mail", workspace=actor.workspace_key)
