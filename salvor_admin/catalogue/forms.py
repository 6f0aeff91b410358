"""What authors type and hand in."""

from __future__ import annotations

from typing import Any

from django import forms

from salvor_admin.domain.effects import Effect


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


REASON_HELP = "Needed to submit: whoever decides reads it, and whoever looks back."


def _area(rows: int, name: str) -> forms.Textarea:
    return forms.Textarea(
        attrs={
            "rows": rows,
            "class": "mono",
            "spellcheck": "false",
            "aria-describedby": f"id_{name}_error id_{name}_helptext",
        }
    )


def _line(name: str, **attrs: str) -> forms.TextInput:
    return forms.TextInput(
        attrs={
            "class": "mono",
            "autocomplete": "off",
            "spellcheck": "false",
            "aria-describedby": f"id_{name}_error id_{name}_helptext",
            **attrs,
        }
    )


class _DraftForm(forms.Form):
    """What both ways of writing a tool carry. What the fields mean is judged by `spelling`, not here."""

    reason = forms.CharField(
        label="Reason for the change request",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "aria-describedby": "id_reason_error id_reason_helptext"}),
        help_text=REASON_HELP,
    )
    sample_input = forms.CharField(
        label="Sample input",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false", "form": "tool-form"}),
    )
    sample_report = forms.CharField(
        label="Sample completion",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false", "form": "tool-form"}),
    )
    sample_is_failure = forms.BooleanField(
        label="The client reports a failure with these words",
        required=False,
        widget=forms.CheckboxInput(attrs={"form": "tool-form"}),
    )


class FieldsForm(_DraftForm):
    """One client tool, a field a key."""

    name = forms.CharField(
        label="name",
        required=False,
        strip=False,
        widget=_line("name"),
        help_text="The name a client gives when it opens an intent. Compared letter by letter.",
    )
    effect = forms.ChoiceField(
        label="effect", required=False, choices=[(effect.value, effect.value) for effect in Effect]
    )
    input_schema = forms.CharField(
        label="input_schema",
        required=False,
        strip=False,
        widget=_area(11, "input_schema"),
        help_text="JSON Schema. Every call's input is held to it before anything is recorded.",
    )
    output_schema = forms.CharField(
        label="output_schema",
        required=False,
        strip=False,
        widget=_area(9, "output_schema"),
        help_text="JSON Schema. Empty: none is declared, and no client can close a call of this tool by itself.",
    )
    trust_completion = forms.BooleanField(label="trust_completion", required=False)
    require_equal = forms.CharField(
        label="require_equal",
        required=False,
        strip=False,
        widget=_line("require_equal"),
        help_text="Pinned: what a report says here must equal the recorded input. Names with a comma between.",
    )
    idempotency_key = forms.CharField(
        label="idempotency_key",
        required=False,
        strip=False,
        widget=_line("idempotency_key"),
        help_text="What makes two asks of a run one call. Empty: the position in the run.",
    )
    #: The TOML this was read from, so that going back finds its comments again.
    kept_toml = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)


class TomlForm(_DraftForm):
    """One client tool as TOML."""

    toml = forms.CharField(
        label="Client tool as TOML",
        required=False,
        strip=False,
        widget=_area(26, "toml"),
        help_text="As `salvor serve --client-tool` takes it. Comments are kept with the revision.",
    )
