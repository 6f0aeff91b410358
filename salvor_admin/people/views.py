"""Signing in and out, the first password, and the people of a workspace."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.people import access, selectors, services
from salvor_admin.people.access import Actor
from salvor_admin.people.forms import NewPasswordForm, OldAndNewPasswordForm, PersonForm, SignInForm, TokenForm
from salvor_admin.people.pages import in_workspace, person_of
from salvor_admin.web.addresses import safe_path
from salvor_admin.web.sessions import signed_in


class SignIn(LoginView):
    """The way in; somebody with a one-time password goes on to choose their own."""

    template_name = "people/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """The way back that was asked for, unless it leads to this very page."""
        following = safe_path(self.request, self.request.POST.get("next") or self.request.GET.get("next")) or ""
        return "" if following.partition("?")[0] == self.request.path else following

    def form_valid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        response = super().form_valid(form)
        person = person_of(self.request)
        services.note_sign_in(person=person, signed_in=True)
        if person.must_change_password:
            following = self.get_redirect_url()
            query = f"?{urlencode({'next': following})}" if following else ""
            return redirect(reverse("people:change_password") + query)
        return response


class SignOut(LogoutView):
    """The way out, by POST alone."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.user.is_authenticated:
            services.note_sign_in(person=person_of(request), signed_in=False)
        return super().post(request, *args, **kwargs)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def change_password(request: HttpRequest) -> HttpResponse:
    """One's own password; the one-time one must go before anything else opens."""
    person = person_of(request)
    must_change = person.must_change_password
    kind = NewPasswordForm if must_change else OldAndNewPasswordForm
    form = kind(request.POST if request.method == "POST" else None)
    following = safe_path(request, request.POST.get("next") or request.GET.get("next"))
    if request.method == "POST" and form.is_valid():
        if not must_change and not person.check_password(form.cleaned_data["old_password"]):
            form.add_error("old_password", "That is not your present password.")
        else:
            try:
                changed = services.change_password(
                    person=person,
                    new_password=form.cleaned_data["new_password1"],
                    workspaces=[membership.workspace for membership in access.workspaces_of(person)],
                )
            except Refusal as refusal:
                form.add_error(refusal.place or None, refusal.message)
            else:
                update_session_auth_hash(request, changed)
                services.end_sessions(changed, but=request.session.session_key)
                messages.success(request, "Your password is changed; your other sessions have ended.")
                return redirect(following or "home:start")
    return render(
        request,
        "people/change_password.html",
        {
            "form": form,
            "must_change": must_change,
            "next": following,
            "sign_out_url": reverse("people:sign_out"),
        },
        status=422 if form.errors else 200,
    )


@require_safe
@in_workspace
def people(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Who is here, what they may do, and whether enough people can decide."""
    return _people_page(request, actor, PersonForm())


def _people_page(
    request: HttpRequest, actor: Actor, form: PersonForm, *, made: services.NewPerson | None = None, status: int = 200
) -> HttpResponse:
    rows = selectors.members(actor.workspace_id)
    return render(
        request,
        "people/people.html",
        {
            "actor": actor,
            "members": rows,
            "roles": list(Role),
            "gaps": selectors.role_gaps(rows),
            "form": form,
            "made": made,
            "may_administer": actor.has(Role.ADMIN),
        },
        status=status,
    )


@require_POST
@in_workspace
def add_person(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Somebody new; the one-time password is in this answer alone."""
    form = PersonForm(request.POST)
    if not form.is_valid():
        return _people_page(request, actor, form, status=422)
    try:
        made = services.create_person(
            username=form.cleaned_data["username"],
            name=form.cleaned_data["name"],
            email=form.cleaned_data["email"],
            roles=form.cleaned_data["roles"],
            actor=actor,
        )
    except Refusal as refusal:
        if refusal.place not in form.fields:
            raise
        form.add_error(refusal.place, refusal.message)
        return _people_page(request, actor, form, status=422)
    return _people_page(request, actor, PersonForm(), made=made, status=201)


@require_POST
@in_workspace
def change_roles(request: HttpRequest, actor: Actor, person_id: int) -> HttpResponse:
    membership = services.change_roles(person_id=person_id, roles=request.POST.getlist("roles"), actor=actor)
    messages.success(request, f"{membership.person.name}'s roles are changed; they hold from the next decision on.")
    return redirect("people:people", workspace=actor.workspace_key)


@require_POST
@in_workspace
def deactivate(request: HttpRequest, actor: Actor, person_id: int) -> HttpResponse:
    reason = request.POST.get("reason", "").strip()
    if not reason:
        raise Refusal(
            "reason_missing", "Say why this person is deactivated; it stands in the audit trail.", place="reason"
        )
    person = services.deactivate_person(person_id=person_id, reason=reason, actor=actor)
    messages.success(
        request,
        f"{person.name} is out of this workspace, and their tokens for it have ended. They work elsewhere too, so they can "
        "still sign in there."
        if person.is_active
        else f"{person.name} is deactivated: sessions and tokens have ended.",
    )
    return redirect("people:people", workspace=actor.workspace_key)


@require_POST
@in_workspace
def reactivate(request: HttpRequest, actor: Actor, person_id: int) -> HttpResponse:
    person = services.reactivate_person(person_id=person_id, actor=actor)
    messages.success(request, f"{person.name} may sign in again.")
    return redirect("people:people", workspace=actor.workspace_key)


@require_safe
@in_workspace
def settings(request: HttpRequest, actor: Actor) -> HttpResponse:
    """One's own tokens, and the way to a new password."""
    return _settings_page(request, actor, TokenForm())


def _settings_page(
    request: HttpRequest, actor: Actor, form: TokenForm, *, made: services.NewToken | None = None, status: int = 200
) -> HttpResponse:
    return render(
        request,
        "people/settings.html",
        {"actor": actor, "tokens": selectors.tokens_of(actor), "form": form, "made": made},
        status=status,
    )


@require_POST
@in_workspace
def create_token(request: HttpRequest, actor: Actor) -> HttpResponse:
    """A personal token; it is in this answer alone."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _settings_page(request, actor, form, status=422)
    made = services.create_personal_token(
        person=actor.person,
        scope=form.cleaned_data["scope"],
        lives=timedelta(hours=form.cleaned_data["hours"]),
        name=form.cleaned_data["name"],
        actor=actor,
    )
    return _settings_page(request, actor, TokenForm(), made=made, status=201)


@require_POST
@in_workspace
def revoke_token(request: HttpRequest, actor: Actor, token_id: int) -> HttpResponse:
    row = services.revoke_personal_token(token_id=token_id, actor=actor)
    messages.success(request, f"The token “{row.name}” is revoked.")
    return redirect("people:settings", workspace=actor.workspace_key)
