"""The calls of a workspace as its runtimes see them: where each stands, and nothing that people wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from salvor_admin.domain import settling
from salvor_admin.domain.settling import CaseState
from salvor_admin.ledger.models import Intent
from salvor_admin.settlement import access
from salvor_admin.settlement.models import Claim
from salvor_admin.web.pagination import keyset_page

STATES: Final = ("open", "waiting", "claimed", "decided", "all")


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """A call and where it stands."""

    intent: Intent
    state: CaseState
    kind: str = "unsettled"


def calls(
    workspace_id: int,
    *,
    state: str = "open",
    run: UUID | None = None,
    tool: str = "",
    runtime: str = "",
    now: datetime,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[RuntimeCall], str | None]:
    """One page of calls and the cursor of the next; with a run all of it, however young."""
    rows = Intent.objects.filter(workspace_id=workspace_id).select_related("run", "case")
    if tool:
        rows = rows.filter(tool=tool)
    if runtime:
        rows = rows.filter(runtime__name=runtime)
    order: Sequence[str] = ("id",)
    if run is not None:
        rows, order = rows.filter(run__run_id=run), ("seq", "id")
    elif state == "decided":
        rows = rows.exclude(standing="open")
    elif state != "all":
        rows, order = _open(rows, state, now), ("waits_at", "id")
    page = keyset_page(rows, order, cursor=cursor, limit=limit)
    return _stated(page.rows, now), page.next_cursor


def call(workspace_id: int, intent_id: UUID, *, now: datetime) -> RuntimeCall:
    """One call of the workspace; raises `not_found`."""
    rows = Intent.objects.filter(workspace_id=workspace_id, pk=intent_id).select_related("run", "case")
    found = _stated(list(rows), now)
    if not found:
        raise access.unknown_call()
    return found[0]


def _open(rows: QuerySet[Intent], state: str, now: datetime) -> QuerySet[Intent]:
    rows = rows.filter(standing="open", waits_at__lte=now)
    if state == "open":
        return rows
    held = Exists(Claim.objects.filter(case__intent=OuterRef("pk"), ended_at__isnull=True, lapses_at__gt=now))
    return rows.filter(held if state == "claimed" else ~held)


def _stated(intents: Sequence[Intent], now: datetime) -> list[RuntimeCall]:
    held = set(
        Claim.objects.filter(
            case__intent__in=[intent.pk for intent in intents], ended_at__isnull=True, lapses_at__gt=now
        ).values_list("case__intent_id", flat=True)
    )
    return [
        RuntimeCall(
            intent,
            settling.state_of(
                intent.standing,
                stored=case.state if (case := getattr(intent, "case", None)) else None,
                is_held=intent.pk in held,
            ),
        )
        for intent in intents
    ]
