"""Runs, their events, and what stands beside the log: intents, reports, decisions. History only grows."""

from __future__ import annotations

import uuid

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint

from salvor_admin.domain.events import Event as RecordedEvent
from salvor_admin.domain.events import stored
from salvor_admin.domain.run_state import RunHead, RunState


class Run(models.Model):
    """One run's folded head and its lease. The log is the truth; the head is what the next write is judged by.

    PostgreSQL parses a check constraint anew at every write, so here stand only those that a race could break; words of
    a fixed list come from the domain's own enumerations (docs/decisions/hot-path.md).
    """

    workspace = models.ForeignKey("people.Workspace", on_delete=models.PROTECT, related_name="runs", db_index=False)
    run_id = models.UUIDField()
    opened_at = models.DateTimeField()
    opened_by = models.ForeignKey("runtimes.Runtime", on_delete=models.PROTECT, related_name="+", db_index=False)

    # The head, member by member as `domain.run_state.RunHead`. Zero events: opened, but not in any list.
    next_seq = models.BigIntegerField(default=0)
    state = models.CharField(max_length=24, default=RunState.NOT_STARTED.value)
    # Where the event lies that says more about the state than its name, and the intent without a completion.
    state_seq = models.BigIntegerField(null=True)
    pending_seq = models.BigIntegerField(null=True)
    has_open_sleep = models.BooleanField(default=False)
    is_client_driven = models.BooleanField(default=False)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    step_count = models.BigIntegerField(default=0)
    # The state again when it is one that stays (at rest or ended), so that calls coming and going move no index.
    resting_state = models.CharField(max_length=24, null=True)
    # Canonical JSON texts, since a client's strings may hold what a text column cannot.
    agent_def_hash = models.TextField(null=True)
    labels = models.TextField(null=True)
    first_recorded_at = models.DateTimeField(null=True)
    last_recorded_at = models.DateTimeField(null=True)

    # The lease: a hash, never the token; judged by the database's clock.
    lease_hash = models.BinaryField(max_length=32, null=True)
    lease_seen_at = models.DateTimeField(null=True)
    lease_ttl_seconds = models.IntegerField(null=True)
    record_prompts = models.BooleanField(default=False)
    last_driver = models.ForeignKey(
        "runtimes.Runtime", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "run_id"], name="one_run_per_id"),
            # No checks here: each is parsed again by every call. That the head is its log's fold is tested, and what is
            # written together stands in one statement (docs/decisions/write-path-speed.md).
        ]
        indexes = [
            models.Index(
                fields=["workspace", "first_recorded_at", "run_id"],
                condition=Q(first_recorded_at__isnull=False),
                name="runs_by_first_event",
            ),
            models.Index(
                fields=["workspace", "resting_state", "first_recorded_at", "run_id"],
                condition=Q(resting_state__isnull=False),
                name="runs_by_resting_state",
            ),
        ]

    def __str__(self) -> str:
        return str(self.run_id)

    @property
    def head(self) -> RunHead:
        """The head as rules read it."""
        return RunHead(
            next_seq=self.next_seq,
            state=RunState(self.state),
            state_seq=self.state_seq,
            pending_seq=self.pending_seq,
            has_open_sleep=self.has_open_sleep,
            is_client_driven=self.is_client_driven,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            step_count=self.step_count,
        )

    def event_at(self, seq: int) -> RecordedEvent | None:
        """The event recorded at a position, as rules read it."""
        row = Event.objects.filter(run=self, seq=seq).first()
        return None if row is None else row.as_domain()


class Event(models.Model):
    """One stored event. `payload` is canonical text made once at intake."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    # Written by the statement that moves its run, which is never deleted: there is nothing left to check.
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="events", db_index=False, db_constraint=False)
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=24)
    payload = models.TextField()
    recorded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"

    def as_domain(self) -> RecordedEvent:
        """The event as rules read it."""
        return stored(self.kind, self.payload)


class Intent(models.Model):
    """A client-performed call written down before it happened, and what became of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # One statement writes an intent together with its run, from rows it has just read, and none of them is ever
    # deleted: checking each of these again, and indexing each by itself, would cost every call (docs/decisions/hot-path.md).
    workspace = models.ForeignKey(
        "people.Workspace", on_delete=models.PROTECT, related_name="intents", db_index=False, db_constraint=False
    )
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="intents", db_index=False, db_constraint=False)
    seq = models.BigIntegerField()
    tool = models.TextField()
    effect = models.CharField(max_length=12)
    idempotency_key = models.CharField(max_length=71)
    # The first call of its content in its run: later ones are answered from it.
    holds_claim = models.BooleanField(default=False)
    revision = models.ForeignKey(
        "reviews.Revision", on_delete=models.PROTECT, related_name="intents", db_index=False, db_constraint=False
    )
    publication = models.IntegerField()
    runtime = models.ForeignKey(
        "runtimes.Runtime", on_delete=models.PROTECT, related_name="intents", db_index=False, db_constraint=False
    )
    recorded_at = models.DateTimeField()
    waits_at = models.DateTimeField()
    # When the call was put where search finds it: once it waits, so that those which never do cost nothing there. A
    # call that was closed before is taken as listed then, so that the planner sees how few are not.
    listed_at = models.DateTimeField(null=True)
    # open, then one of: completed (the client's report), settled (a person), copied (answered from the record),
    # abandoned.
    standing = models.CharField(max_length=12, default="open")
    closed_at = models.DateTimeField(null=True)
    refusals = models.IntegerField(default=0)
    # SHA-256 over the tool and its identity fields (else its pinned ones), without the run: likely duplicates share it.
    likeness = models.BinaryField(max_length=32, null=True)
    # JSON list of [name, canonical text of the value, cut], pinned fields first, then identity fields: for lists alone.
    subject = models.TextField(default="[]")

    class Meta:
        constraints = [
            UniqueConstraint(fields=["run", "seq"], name="one_intent_per_position"),
            UniqueConstraint(fields=["run"], condition=Q(standing="open"), name="one_open_intent_per_run"),
            UniqueConstraint(
                fields=["run", "idempotency_key"], condition=Q(holds_claim=True), name="one_claim_per_key"
            ),
            # One for both: a check is parsed again by every statement that writes to the table.
            CheckConstraint(
                condition=Q(standing="open", closed_at__isnull=True)
                | Q(standing__in=["completed", "settled", "copied", "abandoned"], closed_at__isnull=False),
                name="intent_closed_has_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "waits_at", "id"], condition=Q(standing="open"), name="intents_waiting"),
            models.Index(
                fields=["workspace", "tool", "waits_at", "id"],
                condition=Q(standing="open"),
                name="intents_waiting_tool",
            ),
            models.Index(
                fields=["workspace", "runtime", "waits_at", "id"],
                condition=Q(standing="open"),
                name="intents_waiting_runtime",
            ),
            models.Index(
                fields=["waits_at"], condition=Q(standing="open", listed_at__isnull=True), name="intents_unlisted"
            ),
            models.Index(
                fields=["workspace", "likeness"], condition=Q(likeness__isnull=False), name="intents_by_likeness"
            ),
            # Rows lie in the order of time, so a summary of each stretch of them finds a week; it costs a write nothing.
            BrinIndex(fields=["recorded_at"], pages_per_range=32, autosummarize=True, name="intents_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} at {self.seq}"


class Report(models.Model):
    """A refused report: evidence, never history. `body` is what came, byte for byte."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    intent = models.ForeignKey(Intent, on_delete=models.PROTECT, related_name="reports")
    runtime = models.ForeignKey("runtimes.Runtime", on_delete=models.PROTECT, related_name="+")
    body = models.BinaryField()
    # Canonical text of the reported output or error; null when the body held neither.
    output = models.TextField(null=True)
    error = models.TextField(null=True)
    code = models.CharField(max_length=60)
    message = models.TextField()
    received_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["intent", "received_at"], name="reports_by_intent")]

    def __str__(self) -> str:
        return f"{self.code} at {self.received_at}"


class Decision(models.Model):
    """What a runtime was told when it asked whether a call is allowed. `call_id` is its own name for the call."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("people.Workspace", on_delete=models.PROTECT, related_name="decisions")
    runtime = models.ForeignKey("runtimes.Runtime", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("reviews.Document", on_delete=models.PROTECT, related_name="+")
    run = models.TextField()
    call_id = models.TextField()
    tool = models.TextField()
    arguments = models.TextField()
    arguments_digest = models.CharField(max_length=71)
    labels = models.TextField()
    decision = models.CharField(max_length=8)
    code = models.CharField(max_length=60)
    reason = models.TextField()
    told = models.TextField(null=True)
    grant_revision = models.ForeignKey("reviews.Revision", on_delete=models.PROTECT, null=True, related_name="+")
    publication = models.PositiveIntegerField()
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["runtime", "agent", "run", "call_id"], name="one_decision_per_call"),
            CheckConstraint(condition=Q(decision__in=["allow", "refuse", "hold"]), name="decision_is_known"),
        ]
        indexes = [
            models.Index(fields=["workspace", "agent", "tool", "-decided_at"], name="decisions_by_tool"),
        ]

    def __str__(self) -> str:
        return f"{self.decision} {self.call_id}"


class LeaseEnd(models.Model):
    """How a lease ended, for the run's page: released, lapsed and taken over, or dropped by a settlement."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="lease_ends")
    runtime = models.ForeignKey("runtimes.Runtime", on_delete=models.PROTECT, null=True, related_name="+")
    how = models.CharField(max_length=12)
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField()

    class Meta:
        constraints = [
            CheckConstraint(condition=Q(how__in=["released", "lapsed", "dropped"]), name="lease_end_is_known"),
            CheckConstraint(condition=Q(ended_at__gte=F("seen_at")), name="lease_ends_after_it_was_seen"),
        ]
        indexes = [models.Index(fields=["run", "ended_at"], name="lease_ends_by_run")]

    def __str__(self) -> str:
        return self.how
