"""What people type to sign in, and what admins type about people."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm

from salvor_admin.domain.rights import TOKEN_SCOPES, Role


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": "Name and password do not match, or the person is deactivated. Nothing else is told here.",
        "inactive": "Name and password do not match, or the person is deactivated. Nothing else is told here.",
    }


class NewPasswordForm(forms.Form):
    """A password of one's own, typed twice."""

    new_password1 = forms.CharField(
        label="New password",
        strip=False,
        help_text="At least 12 characters; a few words are easier to keep than signs.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    new_password2 = forms.CharField(
        label="The same again", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        first, second = cleaned.get("new_password1"), cleaned.get("new_password2")
        if first and second and first != second:
            self.add_error("new_password2", "The two differ; type the same password twice.")
        return cleaned


class OldAndNewPasswordForm(NewPasswordForm):
    """A change by somebody who has a password of their own already."""

    old_password = forms.CharField(
        label="Present password", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )
    field_order = ["old_password", "new_password1", "new_password2"]


class PersonForm(forms.Form):
    """Somebody new, or somebody of another workspace."""

    username = forms.CharField(label="User name", max_length=60)
    name = forms.CharField(label="Full name", max_length=120, required=False)
    email = forms.EmailField(label="Mail address", required=False)
    roles = forms.MultipleChoiceField(
        label="Roles",
        choices=[(role.value, role.value) for role in Role],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )


class TokenForm(forms.Form):
    """A personal token."""

    name = forms.CharField(label="What it is for", max_length=120)
    scope = forms.ChoiceField(label="Scope", choices=[(scope, scope) for scope in TOKEN_SCOPES])
    hours = forms.IntegerField(label="Hours it lives", min_value=1, max_value=24, initial=8)
