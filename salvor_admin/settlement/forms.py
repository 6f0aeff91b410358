"""What was typed into the answer's form, read into one of four outcomes; nothing of it is trusted, all of it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from salvor_admin.domain import sentinels, settling, strict_json
from salvor_admin.domain.client_tools import ABSENT
from salvor_admin.domain.ledger import Failure
from salvor_admin.domain.output_form import FieldFaults, FieldKind, FormField, OutputForm, read_fields, read_raw
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.settling import JudgeBy, Outcome, ReasonCode
from salvor_admin.domain.strict_json import Json
from salvor_admin.settlement.selectors import STATES, CallFilter

REASONS: Final = [
    (ReasonCode.SEEN_AT_PROVIDER.value, "Seen at the provider"),
    (ReasonCode.PERFORMED_BY_HAND.value, "Performed by hand"),
    (ReasonCode.PROVIDER_REFUSED.value, "The provider refused it"),
    (ReasonCode.DUPLICATE.value, "A duplicate of another call"),
    (ReasonCode.OTHER.value, "Something else"),
]
# Not kept: they say what somebody meant to do once, not what they found out.
_NOT_KEPT: Final = frozenset({"csrfmiddlewaretoken", "permanent", "driver_ok", "claim", "revision", "typed"})
_LOOK_AGAIN = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?")


def read_filter(query: Mapping[str, str]) -> CallFilter:
    """The filter that an address says; an unknown state is refused by name."""
    state = query.get("state", "") or "open"
    if state not in STATES:
        raise Refusal("bad_request", f"There is no state {state[:40]!r} here; use {', '.join(STATES)}.", place="state")
    values = {name: query.get(name, "").strip() for name in ("tool", "runtime", "run", "q")}
    for name, value in values.items():
        if "\0" in value or len(value) > 600:
            raise Refusal("bad_request", f"The filter {name} is no text to look for; take it out.", place=name)
    return CallFilter(state=state, **values)


def read_uuid(text: str) -> UUID | None:
    """An id in an address, or None when it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field of an output as the page draws it."""

    field: FormField
    value: str
    is_null: bool
    fault: str
    options: tuple[tuple[str, str, bool], ...] = ()
    children: tuple[FieldView, ...] = ()

    @property
    def kind(self) -> str:
        return self.field.kind.value

    @property
    def id(self) -> str:
        return f"o-{self.field.name}"

    @property
    def hint(self) -> str:
        """Type and whether it is needed, as it stands beside the label."""
        words = {
            FieldKind.TEXT: "text",
            FieldKind.INTEGER: "whole number",
            FieldKind.NUMBER: "number",
            FieldKind.BOOLEAN: "yes or no",
            FieldKind.CHOICE: f"one of {len(self.field.choices)}",
            FieldKind.LINES: f"list of {self.field.item_kind.value}, one a line",
            FieldKind.JSON: "JSON",
            FieldKind.GROUP: "group",
            FieldKind.PINNED: "pinned",
        }[self.field.kind]
        return f"{words}, required" if self.field.is_required else words


@dataclass
class AnswerForm:
    """The answer to one call: what was typed (or kept), and what is wrong with it by field name."""

    output_form: OutputForm
    typed: Mapping[str, str] = field(default_factory=dict)
    ticks: Sequence[str] = ()
    """The outcomes whose tick "this becomes permanent history" was set."""
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        chosen = self.typed.get("outcome", "")
        return chosen if chosen in {outcome.value for outcome in Outcome} else Outcome.LANDED.value

    @property
    def uses_raw(self) -> bool:
        return not self.output_form.fields or bool(self.typed.get("use_raw"))

    @property
    def raw(self) -> str:
        return self.typed.get("raw", self.output_form.start)

    @property
    def fields(self) -> list[FieldView]:
        return [self._view(field) for field in self.output_form.fields]

    @property
    def reasons(self) -> list[tuple[str, str, bool]]:
        chosen = self.typed.get("reason_code", "")
        return [(code, words, code == chosen) for code, words in REASONS]

    @property
    def error_kinds(self) -> list[tuple[str, bool]]:
        chosen = self.typed.get("error-kind", "handler")
        return [(kind, kind == chosen) for kind in ("handler", *(k for k in sentinels.FAILURE_KINDS if k != "handler"))]

    def text(self, name: str) -> str:
        return self.typed.get(name, "")

    @property
    def look_again_at(self) -> str:
        return self.text("look_again_at")

    @property
    def error_message(self) -> str:
        return self.text("error-message")

    @property
    def reason(self) -> str:
        return self.text("reason")

    def _view(self, field: FormField) -> FieldView:
        value = self.typed.get(field.name, "")
        options: tuple[tuple[str, str, bool], ...] = ()
        if field.kind is FieldKind.CHOICE:
            options = tuple((choice, _plain(choice), choice == value) for choice in field.choices)
        if field.kind is FieldKind.BOOLEAN:
            options = tuple((choice, choice, choice == value) for choice in ("true", "false"))
        return FieldView(
            field=field,
            value=_plain(field.pinned) if field.kind is FieldKind.PINNED else value,
            is_null=bool(self.typed.get(field.null_name)),
            fault=self.faults.get(field.name, ""),
            options=options,
            children=tuple(self._view(child) for child in field.children),
        )

    # --- reading -----------------------------------------------------------------------------------------------------

    def output(self) -> Json:
        """The output that was typed; ABSENT with faults noted when none can be read."""
        try:
            if not self.uses_raw:
                return read_fields(self.output_form, self.typed)
            raw = self.typed.get("raw", "")
            if not raw.strip():
                self.faults["raw"] = "There is no JSON here. Write the output, null included if that is what it was."
                return ABSENT
            return read_raw(raw)
        except FieldFaults as faults:
            self.faults |= faults.faults
        except Refusal as refusal:
            self.faults["raw"] = refusal.message
        return ABSENT

    def error(self) -> Failure | None:
        """The failure that was typed; None with a fault noted when it says nothing."""
        message = self.error_message.replace("\r\n", "\n")
        if not message.strip():
            self.faults["error-message"] = "Write what the provider said; the run and its model read it."
        elif "\0" in message:
            self.faults["error-message"] = "The message holds the NUL character, which cannot be stored; leave it out."
        kind = self.text("error-kind") or "handler"
        if kind not in sentinels.FAILURE_KINDS:
            self.faults["error-kind"] = f"Choose one of {', '.join(sentinels.FAILURE_KINDS)}."
        return None if {"error-message", "error-kind"} & self.faults.keys() else Failure(message.strip(), kind)

    def look_again(self) -> datetime | None:
        """The time that was typed, as UTC: no clock of theirs is guessed, so no hour is missing or doubled."""
        text = self.look_again_at.strip()
        if _LOOK_AGAIN.fullmatch(text):
            try:
                return datetime.fromisoformat(text).replace(tzinfo=UTC)
            except ValueError:
                pass
        self.faults["look_again_at"] = "Give a day and a time in UTC, like 2026-03-29T02:30."
        return None

    def ticked(self) -> None:
        """Notes a fault unless the tick that belongs to this outcome was set."""
        if self.outcome not in self.ticks:
            self.faults["permanent"] = "Tick that this becomes permanent history; it is never changed afterwards."

    def names_tool(self, tool: str) -> None:
        """Notes a fault unless the tool's name was typed."""
        if self.text("typed").strip() != tool:
            self.faults["typed"] = f"Type the tool's name, {tool}, exactly: the whole run ends by this."

    def has_reason(self) -> None:
        """Notes a fault when the reason says nothing."""
        try:
            settling.decide_reason(self.reason, self.text("reason_code"), is_required=True)
        except Refusal as refusal:
            self.faults[refusal.place or "reason"] = refusal.message


def judge_by(query: Mapping[str, str]) -> JudgeBy:
    """Which revision the form is made from and the answer is held to."""
    return JudgeBy.LIVE if query.get("judge_by") == JudgeBy.LIVE.value else JudgeBy.INTENT


def keepable(typed: Mapping[str, str]) -> dict[str, str]:
    """What of a form is worth keeping for whoever typed it."""
    return {name: value for name, value in typed.items() if name not in _NOT_KEPT and isinstance(value, str)}


def _plain(text: str) -> str:
    """A canonical text as people read it: strings without their quotes."""
    value = strict_json.read(text.encode())
    return value if isinstance(value, str) else text
