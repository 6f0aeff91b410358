"""What authors type and hand in."""

from __future__ import annotations

from typing import Any

from django import forms


class ManyFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """Any number of files, at least one."""

    widget = ManyFilesInput

    def clean(self, value: Any, initial: Any = None) -> list[Any]:
        values = value if isinstance(value, list | tuple) else [value]
        return [super(ManyFilesField, self).clean(each, initial) for each in values]


class ImportForm(forms.Form):
    """Files of client tools, and the reason they are submitted with."""

    uploads = ManyFilesField(
        label="Files", help_text="TOML, one client tool a file, as `salvor serve --client-tool` takes them."
    )
    reason = forms.CharField(
        label="Reason",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Needed to submit at once; without it a draft is saved.",
    )


class TomlForm(forms.Form):
    """One client tool as TOML."""

    toml = forms.CharField(
        label="Client tool as TOML",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "class": "mono", "spellcheck": "false"}),
    )
    reason = forms.CharField(
        label="Reason",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Needed to submit at once; without it a draft is saved.",
    )
