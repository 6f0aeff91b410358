"""Keeping what the rules find about a revision, and finding anew when there are newer rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from salvor_admin.domain import documents, strict_json
from salvor_admin.domain.client_tools import MAX_STORED_DEPTH
from salvor_admin.domain.findings import finding as rules
from salvor_admin.reviews.models import Examination, Finding, Revision
from salvor_admin.web.clock import database_now


def keep(revision: Revision, findings: Sequence[rules.Finding], *, now: datetime) -> None:
    """Stores what today's rules found about a revision, and that they looked."""
    Examination.objects.bulk_create(
        [Examination(revision=revision, rule_set=rules.RULE_SET, examined_at=now)], ignore_conflicts=True
    )
    Finding.objects.bulk_create(
        [
            Finding(
                revision=revision,
                code=finding.code,
                severity=finding.severity.value,
                place=finding.place,
                reason=finding.reason,
                remedy=finding.remedy,
                rule_set=rules.RULE_SET,
                found_at=now,
            )
            for finding in findings
        ],
        ignore_conflicts=True,
    )


def examine(revisions: Iterable[Revision], *, now: datetime) -> None:
    """Runs today's rules over these revisions."""
    for revision in revisions:
        body = strict_json.read(revision.body.encode(), max_depth=MAX_STORED_DEPTH)
        keep(revision, documents.read(revision.document.kind, body).findings, now=now)


@transaction.atomic
def examine_request(request_id: UUID) -> None:
    """Has every revision of a change request looked at by today's rules; what was found stays found.

    A transaction of its own: a verdict that is then refused because of a new finding must not take it back.
    """
    unseen = list(
        Revision.objects.filter(change_items__request_id=request_id)
        .exclude(examinations__rule_set=rules.RULE_SET)
        .select_related("document")
    )
    if unseen:
        examine(unseen, now=database_now())
