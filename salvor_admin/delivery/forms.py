"""What a person chooses to hear by mail."""

from __future__ import annotations

from typing import Final

from django import forms

from salvor_admin.domain.mailing import DEFAULTS, Group, Mode

MODES: Final = (
    (Mode.AT_ONCE.value, "At once"),
    (Mode.DIGEST.value, "By digest, once a day"),
    (Mode.OFF.value, "Not by mail"),
)
GROUPS: Final = {
    Group.OVERDUE: ("Calls nobody answered in time, or handed to you", "Goes to settlers and admins."),
    Group.WAITING: ("Calls that begin to wait", "Goes to settlers. Many at once come as one mail."),
    Group.REVOKED: ("Documents revoked at once", "Goes to reviewers, publishers, and whoever wrote what was live."),
    Group.ASKED: ("Changes to review or to publish", "Goes to whoever may decide and wrote none of it."),
    Group.OUTCOMES: ("What became of changes you wrote", "Verdicts, withdrawn, live, stale."),
    Group.ANSWERED: ("What became of calls", "Goes to whoever was told that they wait, and to the tool's author."),
}


class MailForm(forms.Form):
    """Where and how soon."""

    address = forms.EmailField(
        label="Mail address",
        required=False,
        help_text="For this workspace alone. Empty: the address that an admin gave for you.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    overdue = forms.ChoiceField(choices=MODES)
    waiting = forms.ChoiceField(choices=MODES)
    revoked = forms.ChoiceField(choices=MODES)
    asked = forms.ChoiceField(choices=MODES)
    outcomes = forms.ChoiceField(choices=MODES)
    answered = forms.ChoiceField(choices=MODES)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for group, (label, help_text) in GROUPS.items():
            self.fields[group.value].label = label
            self.fields[group.value].help_text = help_text

    @property
    def modes(self) -> dict[Group, Mode]:
        """What was chosen; for a valid form."""
        return {group: Mode(self.cleaned_data[group.value]) for group in DEFAULTS}
