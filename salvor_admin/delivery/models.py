"""What each person hears by mail. Rows are the queue: whatever is down, they wait."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from salvor_admin.domain.mailing import DEFAULTS, Group, Kind, Mode, Standing

PERSON = "people.Person"
WORKSPACE = "people.Workspace"


def _mode(group: Group) -> models.CharField[str, str]:
    return models.CharField(max_length=8, default=DEFAULTS[group].value)


class MailPreference(models.Model):
    """How soon one person wants to hear what in one workspace, and where. No row: the defaults."""

    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="mail_preferences")
    workspace = models.ForeignKey(WORKSPACE, on_delete=models.PROTECT, related_name="+", db_index=False)
    # Empty: the person's own address.
    address = models.EmailField(blank=True)
    overdue = _mode(Group.OVERDUE)
    waiting = _mode(Group.WAITING)
    revoked = _mode(Group.REVOKED)
    asked = _mode(Group.ASKED)
    outcomes = _mode(Group.OUTCOMES)
    answered = _mode(Group.ANSWERED)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "person"], name="one_mail_preference_per_person"),
            CheckConstraint(
                condition=Q(**{f"{group.value}__in": [mode.value for mode in Mode] for group in DEFAULTS}),
                name="mail_preference_modes_are_known",
            ),
        ]

    def __str__(self) -> str:
        return f"mail of {self.person_id} in {self.workspace_id}"

    @property
    def modes(self) -> dict[Group, Mode]:
        return {group: Mode(getattr(self, group.value)) for group in DEFAULTS}


class Notice(models.Model):
    """That a sweep saw a call begin to wait, or become overdue, since that moment: told once, whoever looks again."""

    workspace = models.ForeignKey(WORKSPACE, on_delete=models.PROTECT, related_name="+", db_index=False)
    intent = models.ForeignKey("ledger.Intent", on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=20)
    # The call's `waits_at` then: a call that was put off and comes back is told again.
    since = models.DateTimeField()
    noticed_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["intent", "kind", "since"], name="one_notice_per_wait"),
            CheckConstraint(
                condition=Q(kind__in=[Kind.CALL_WAITS.value, Kind.CALL_OVERDUE.value]), name="notice_kind_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.intent_id}"


class Delivery(models.Model):
    """One thing that one person is to hear by mail, from a message of the outbox or a sweep's notice."""

    workspace = models.ForeignKey(WORKSPACE, on_delete=models.PROTECT, related_name="+", db_index=False)
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=20)
    mode = models.CharField(max_length=8)
    message = models.ForeignKey(
        "outbox.Message", on_delete=models.PROTECT, null=True, related_name="deliveries", db_index=False
    )
    notice = models.ForeignKey(Notice, on_delete=models.PROTECT, null=True, related_name="deliveries", db_index=False)
    # What it is about: a change request, document, call or token, as the kind says.
    subject_id = models.CharField(max_length=80)
    created_at = models.DateTimeField()
    standing = models.CharField(max_length=8, default=Standing.QUEUED.value)
    # Counted before each attempt, so that one which ends its worker is counted too.
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["message", "subject_id", "person"], name="one_delivery_per_message"),
            UniqueConstraint(fields=["notice", "person"], name="one_delivery_per_notice"),
            CheckConstraint(
                condition=Q(message__isnull=False, notice__isnull=True) | Q(message__isnull=True, notice__isnull=False),
                name="delivery_has_one_cause",
            ),
            CheckConstraint(condition=Q(kind__in=[kind.value for kind in Kind]), name="delivery_kind_is_known"),
            CheckConstraint(
                condition=Q(mode__in=[Mode.AT_ONCE.value, Mode.DIGEST.value]), name="delivery_mode_is_known"
            ),
            CheckConstraint(
                condition=Q(standing=Standing.QUEUED.value, closed_at__isnull=True)
                | Q(
                    standing__in=[Standing.SENT.value, Standing.DROPPED.value, Standing.PARKED.value],
                    closed_at__isnull=False,
                ),
                name="delivery_standing_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_attempt_at", "id"], condition=Q(standing=Standing.QUEUED.value), name="deliveries_queued"
            ),
            models.Index(
                fields=["workspace", "person", "mode", "next_attempt_at"],
                condition=Q(standing=Standing.QUEUED.value),
                name="deliveries_queued_for",
            ),
            models.Index(fields=["workspace"], condition=Q(standing=Standing.PARKED.value), name="deliveries_parked"),
            models.Index(fields=["person", "workspace", "-id"], name="deliveries_by_person"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.person_id}"
