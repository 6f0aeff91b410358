"""The human side of a held or unsettled call: case, claim, evidence, notes, settlement."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint

from salvor_admin.domain import settling

PERSON = "people.Person"


class Case(models.Model):
    """Made at the first touch of a call; one per intent or held decision."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("people.Workspace", on_delete=models.PROTECT, related_name="cases")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10)
    intent = models.OneToOneField("ledger.Intent", on_delete=models.PROTECT, null=True, related_name="case")
    decision = models.OneToOneField("ledger.Decision", on_delete=models.PROTECT, null=True, related_name="case")
    # Only what is stored: a claim that lapsed still reads "claimed" here, and is shown as waiting.
    state = models.CharField(max_length=20, default=settling.CaseState.WAITING.value)
    version = models.PositiveIntegerField(default=1)
    opened_at = models.DateTimeField()
    look_again_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "number"], name="one_case_per_number"),
            CheckConstraint(
                condition=Q(kind="unsettled", intent__isnull=False, decision__isnull=True)
                | Q(kind="held", intent__isnull=True, decision__isnull=False),
                name="case_is_about_one_call",
            ),
            CheckConstraint(
                condition=Q(state__in=[state.value for state in settling.CaseState]), name="case_state_is_known"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "state", "-number"], name="cases_by_state"),
            models.Index(
                fields=["workspace", "-decided_at", "-id"],
                condition=Q(decided_at__isnull=False),
                name="cases_decided",
            ),
        ]

    def __str__(self) -> str:
        return f"case {self.number}"


class Claim(models.Model):
    """One person's hold on a case; the standing one is not ended and has not lapsed."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="claims")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="claims")
    claimed_at = models.DateTimeField()
    lapses_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    how = models.CharField(max_length=12, blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["case"], condition=Q(ended_at__isnull=True), name="one_claim_per_case"),
            CheckConstraint(condition=Q(lapses_at__gt=F("claimed_at")), name="claim_lapses_later"),
        ]
        indexes = [
            models.Index(fields=["person", "lapses_at"], condition=Q(ended_at__isnull=True), name="claims_by_person")
        ]

    def __str__(self) -> str:
        return f"claim of {self.person_id}"


class Note(models.Model):
    """A colleague's words beside a case; they decide nothing."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="notes")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    written_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"note {self.pk}"


class KeptText(models.Model):
    """What somebody had typed into a case's form, kept for them alone when their claim lapsed."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="kept_texts")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="+")
    fields = models.JSONField()
    kept_at = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["case", "person"], name="one_kept_text_per_person")]

    def __str__(self) -> str:
        return f"kept for {self.person_id}"


class Presence(models.Model):
    """Who has a call open at this moment, and whether they type; kept only so that others see it."""

    intent = models.ForeignKey("ledger.Intent", on_delete=models.PROTECT, related_name="presences")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="+")
    is_editing = models.BooleanField(default=False)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["intent", "person"], name="one_presence_per_person")]
        indexes = [models.Index(fields=["seen_at"], name="presences_by_time")]

    def __str__(self) -> str:
        return f"presence of {self.person_id}"


class Evidence(models.Model):
    """What somebody saw outside: a text, a link or a file, with its digest."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="evidence")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10)
    text = models.TextField(blank=True)
    file_name = models.CharField(max_length=255, blank=True)
    # Where the bytes lie below the evidence folder; never made from the name somebody gave.
    stored_as = models.CharField(max_length=80, blank=True)
    content_type = models.CharField(max_length=100, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=71)
    added_at = models.DateTimeField()

    class Meta:
        constraints = [CheckConstraint(condition=Q(kind__in=["text", "link", "file"]), name="evidence_kind_is_known")]

    def __str__(self) -> str:
        return f"{self.kind} evidence"


class Settlement(models.Model):
    """What a person decided about a case. Only grows: a correction is a new row that names the old one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="settlements")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="settlements")
    outcome = models.CharField(max_length=20)
    reason_code = models.CharField(max_length=30, blank=True)
    reason = models.TextField(blank=True)
    # Canonical text of what was recorded; null where nothing was (still unknown, will not happen).
    output = models.TextField(null=True)
    appended_seq = models.PositiveBigIntegerField(null=True)
    # The revision whose output schema and pins held it; null where none judged.
    judged_by = models.ForeignKey("reviews.Revision", on_delete=models.PROTECT, null=True, related_name="+")
    look_again_at = models.DateTimeField(null=True)
    via = models.CharField(max_length=20)
    settled_at = models.DateTimeField()
    corrects = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="corrected_by")

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["case"],
                condition=Q(outcome__in=["landed", "failed", "will_not_happen"], corrects__isnull=True),
                name="one_final_settlement_per_case",
            ),
            CheckConstraint(
                condition=Q(outcome__in=[outcome.value for outcome in settling.Outcome]),
                name="settlement_outcome_is_known",
            ),
        ]
        indexes = [models.Index(fields=["person", "-settled_at", "-id"], name="settlements_by_person")]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.person_id}"
