"""Calls that wait for a person: as they are read, and the answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from salvor_admin.api.fields import FreeJson, Id, Instant, OneOf, StoredJson, Text, Whole
from salvor_admin.domain.settling import CaseState, JudgeBy, Outcome, ReasonCode
from salvor_admin.ledger.models import Intent, Report
from salvor_admin.settlement.detail import CallDetail
from salvor_admin.settlement.models import Settlement
from salvor_admin.settlement.selectors import CallRow

STATES = [state.value for state in CaseState]
KINDS = ("unsettled", "held")


# --- out -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call as a person's token sees it."""

    row: CallRow
    input: str
    reports: Sequence[Report] = ()

    kind: str = "unsettled"

    @property
    def intent(self) -> Intent:
        return self.row.intent

    @property
    def settlement(self) -> Settlement | None:
        """The answer that closed it; that it is still unknown closes nothing."""
        settlement = self.row.settlement
        return settlement if settlement and settlement.outcome != Outcome.STILL_UNKNOWN.value else None


def read_call(detail: CallDetail) -> ReadCall:
    """What `GET /api/calls/{id}/` tells; reports in the order they came."""
    return ReadCall(detail.row, detail.input_text, [view.report for view in reversed(detail.reports)])


class RuntimeCallOut(serializers.Serializer[Any]):
    """A call as a runtime's token sees it: never reasons, notes or names."""

    id = Id(source="intent.id")
    kind = OneOf(choices=KINDS)
    state = OneOf(choices=STATES)
    run = Id(source="intent.run.run_id")
    seq = Whole(source="intent.seq")
    tool = Text(source="intent.tool")


class RuntimeCallListOut(serializers.Serializer[Any]):
    results = RuntimeCallOut(many=True)
    next = Text(allow_null=True)


class SettlementOut(serializers.Serializer[Any]):
    outcome = OneOf(choices=[Outcome.LANDED.value, Outcome.FAILED.value, Outcome.WILL_NOT_HAPPEN.value])
    by = Text(source="person.username")
    at = Instant(source="settled_at")
    reason = Text()
    reason_code = Text()
    output = StoredJson(allow_null=True)
    appended_seq = Whole(allow_null=True)
    judged_by_revision = Whole(source="judged_by.number", allow_null=True)


class ReportOut(serializers.Serializer[Any]):
    """A refused report: what the client said came back, its output or its error."""

    at = Instant(source="received_at")
    refused = Text(source="code")
    output = StoredJson(required=False)
    error = StoredJson(required=False)

    def to_representation(self, instance: Report) -> dict[str, Any]:
        told: dict[str, Any] = super().to_representation(instance)
        absent = [name for name in ("output", "error") if getattr(instance, name) is None]
        return {name: value for name, value in told.items() if name not in absent}


class CallRowOut(serializers.Serializer[Any]):
    """A call in a list. `driver`: whether somebody drives its run at this moment."""

    id = Id(source="intent.id")
    kind = OneOf(choices=KINDS)
    state = OneOf(choices=STATES, source="row.state")
    run = Id(source="intent.run.run_id")
    seq = Whole(source="intent.seq")
    tool = Text(source="intent.tool")
    effect = Text(source="intent.effect")
    input = StoredJson()
    idempotency_key = Text(source="intent.idempotency_key")
    revision = Whole(source="intent.revision.number")
    publication = Whole(source="intent.publication")
    runtime = Text(source="intent.runtime.name")
    waits_at = Instant(source="intent.waits_at")
    due_at = Instant(source="row.due_at")
    holder = Text(source="row.holder.person.username", allow_null=True)
    driver = OneOf(choices=["attached", "none"], source="row.driver")
    settlement = SettlementOut(allow_null=True)


class CallOut(CallRowOut):
    reports = ReportOut(many=True)


class CallListOut(serializers.Serializer[Any]):
    results = CallRowOut(many=True)
    next = Text(allow_null=True)


class ReceiptOut(serializers.Serializer[Any]):
    """Read again from the ledger after an answer was appended."""

    run = Id(source="run_id")
    seq = Whole()
    appended_seq = Whole()
    recorded_at = Instant()
    state = OneOf(choices=STATES)


# --- in --------------------------------------------------------------------------------------------------------------


class NothingIn(serializers.Serializer[Any]):
    """No member at all."""


class LandedIn(serializers.Serializer[Any]):
    """It happened: the output, held to the output schema and pins of the intent's revision, or of the live one."""

    outcome = OneOf(choices=[Outcome.LANDED.value])
    output = FreeJson()
    reason = Text()
    reason_code = OneOf(choices=[code.value for code in ReasonCode], default="")
    judge_by = OneOf(choices=[judge.value for judge in JudgeBy], default=JudgeBy.INTENT.value)


class ErrorIn(serializers.Serializer[Any]):
    message = Text()
    kind = Text(required=False)


class FailedIn(serializers.Serializer[Any]):
    """It did not happen and will not: the run is told so, and goes on."""

    outcome = OneOf(choices=[Outcome.FAILED.value])
    error = ErrorIn()
    reason = Text()
    reason_code = OneOf(choices=[code.value for code in ReasonCode], default="")


class AbandonIn(serializers.Serializer[Any]):
    reason = Text()


class UnknownIn(serializers.Serializer[Any]):
    reason = Text()
    look_again_at = Instant()
