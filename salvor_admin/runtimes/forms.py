"""What admins type about runtimes."""

from __future__ import annotations

from django import forms


class RuntimeForm(forms.Form):
    """A new service."""

    name = forms.CharField(label="Name", max_length=120)
    lease_ttl_seconds = forms.IntegerField(
        label="Lease, in seconds",
        min_value=1,
        max_value=86400,
        initial=60,
        help_text="How long a silent driver holds a run.",
    )


class RuntimeTokenForm(forms.Form):
    """One more token of a runtime."""

    token_name = forms.CharField(label="What it is for", max_length=120)
    days = forms.IntegerField(
        label="Days it lives", min_value=1, max_value=3650, required=False, help_text="Empty: until it is revoked."
    )
