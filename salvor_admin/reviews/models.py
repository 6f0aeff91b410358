"""Documents, their revisions, and how a revision becomes live: one flow for every kind."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from salvor_admin.domain import review

PERSON = "people.Person"
WORKSPACE = "people.Workspace"


class Document(models.Model):
    """A reviewed thing, named by workspace, kind and key."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(WORKSPACE, on_delete=models.PROTECT, related_name="documents")
    kind = models.CharField(max_length=30)
    key = models.TextField()
    # What people call it: the client tool's name, or agent and reference.
    label = models.TextField()
    live_revision = models.ForeignKey("Revision", on_delete=models.PROTECT, null=True, related_name="+")
    last_revision_number = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "kind", "key"], name="one_document_per_key"),
            CheckConstraint(condition=Q(kind__in=[kind.value for kind in review.Kind]), name="document_kind_is_known"),
        ]
        indexes = [models.Index(fields=["workspace", "kind", "label", "id"], name="documents_by_label")]

    def __str__(self) -> str:
        return f"{self.kind} {self.label}"


class Revision(models.Model):
    """One numbered body of a document, never changed once saved. `body` is canonical text; `digest` is over it."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    body = models.TextField()
    digest = models.CharField(max_length=71)
    # The revision that was live when this one was written; null when none was.
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")
    author = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="revisions")
    source = models.CharField(max_length=20)
    # What was handed in, as it came (an imported file); null for a form.
    source_bytes = models.BinaryField(null=True)
    source_name = models.CharField(max_length=255, blank=True)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["document", "number"], name="one_revision_per_number"),
            CheckConstraint(condition=Q(digest__startswith="sha256:"), name="revision_digest_is_sha256"),
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"


class ChangeRequest(models.Model):
    """Revisions submitted and decided together."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(WORKSPACE, on_delete=models.PROTECT, related_name="change_requests")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=20)
    reason = models.TextField(blank=True)
    digest = models.CharField(max_length=71)
    quorum = models.PositiveSmallIntegerField(default=1)
    # An after-review looks at what an emergency revoke already did; closing it changes nothing that is live.
    after_review = models.BooleanField(default=False)
    created_by = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="change_requests")
    created_at = models.DateTimeField()
    submitted_by = models.ForeignKey(PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    submitted_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    # Who brought it into the state it is in, and when.
    moved_by = models.ForeignKey(PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    moved_at = models.DateTimeField(null=True)
    # Every move counts; a page that shows an older count is refused by what it shows, not by luck.
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "number"], name="one_change_request_per_number"),
            CheckConstraint(
                condition=Q(state__in=[state.value for state in review.State]), name="change_request_state_is_known"
            ),
            CheckConstraint(condition=Q(quorum__gte=1), name="change_request_quorum_is_positive"),
        ]
        indexes = [models.Index(fields=["workspace", "state", "-number"], name="change_requests_by_state")]

    def __str__(self) -> str:
        return f"CR-{self.number}"

    @property
    def state_words(self) -> str:
        """The state as people say it: `in review`."""
        return self.state.replace("_", " ")


class ChangeItem(models.Model):
    """One document in a change request: which revision it is set to, or that it is removed."""

    request = models.ForeignKey(ChangeRequest, on_delete=models.PROTECT, related_name="items")
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="change_items")
    action = models.CharField(max_length=10)
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="change_items")
    base = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="+")
    open = models.BooleanField(default=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["request", "document"], name="one_item_per_document"),
            UniqueConstraint(fields=["document"], condition=Q(open=True), name="one_open_change_per_document"),
            CheckConstraint(
                condition=Q(action="set", revision__isnull=False) | Q(action="remove", revision__isnull=True),
                name="change_item_action_fits",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.document_id}"


class Verdict(models.Model):
    """One reviewer's word, bound to the digest they were shown."""

    request = models.ForeignKey(ChangeRequest, on_delete=models.PROTECT, related_name="verdicts")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="verdicts")
    verdict = models.CharField(max_length=20)
    digest = models.CharField(max_length=71)
    reason = models.TextField(blank=True)
    given_at = models.DateTimeField()
    via = models.CharField(max_length=20)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["request", "person", "digest"], name="one_verdict_per_person_and_digest"),
            CheckConstraint(
                condition=Q(verdict__in=[verdict.value for verdict in review.Verdict]), name="verdict_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.person_id}"


class Examination(models.Model):
    """That the rules of one version looked at a revision; it says so also where they found nothing."""

    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="examinations")
    rule_set = models.PositiveIntegerField()
    examined_at = models.DateTimeField()

    class Meta:
        constraints = [UniqueConstraint(fields=["revision", "rule_set"], name="one_examination_per_rule_set")]

    def __str__(self) -> str:
        return f"rule set {self.rule_set}"


class Finding(models.Model):
    """Something a reviewer must see about a revision, found by rule."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="findings")
    code = models.CharField(max_length=60)
    severity = models.CharField(max_length=10)
    place = models.TextField()
    reason = models.TextField()
    remedy = models.TextField()
    rule_set = models.PositiveIntegerField()
    found_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["revision", "rule_set", "code", "place"], name="one_finding_per_place"),
            CheckConstraint(condition=Q(severity__in=["block", "warn", "note"]), name="finding_severity_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.severity} {self.code}"


class Acknowledgement(models.Model):
    """A reviewer says why a blocking finding may stand."""

    verdict = models.ForeignKey(Verdict, on_delete=models.PROTECT, related_name="acknowledgements")
    finding = models.ForeignKey(Finding, on_delete=models.PROTECT, related_name="acknowledgements")
    reason = models.TextField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["verdict", "finding"], name="one_acknowledgement_per_finding"),
            CheckConstraint(condition=~Q(reason=""), name="acknowledgement_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.finding_id}"


class Comment(models.Model):
    """Words beside a change request; they decide nothing."""

    request = models.ForeignKey(ChangeRequest, on_delete=models.PROTECT, related_name="comments")
    person = models.ForeignKey(PERSON, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    written_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"comment {self.pk}"


class Publication(models.Model):
    """A number; which revision of each document is live at it follows from the publications up to it."""

    workspace = models.ForeignKey(WORKSPACE, on_delete=models.PROTECT, related_name="publications")
    number = models.PositiveIntegerField()
    cause = models.CharField(max_length=20)
    request = models.ForeignKey(ChangeRequest, on_delete=models.PROTECT, null=True, related_name="publications")
    published_by = models.ForeignKey(PERSON, on_delete=models.PROTECT, null=True, related_name="+")
    published_at = models.DateTimeField()
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "number"], name="one_publication_per_number"),
            CheckConstraint(
                condition=Q(cause__in=["change_request", "revoke", "suspend", "resume"]),
                name="publication_cause_is_known",
            ),
            UniqueConstraint(
                fields=["request"], condition=Q(cause="change_request"), name="one_publication_per_change_request"
            ),
        ]

    def __str__(self) -> str:
        return f"publication {self.number}"


class PublicationItem(models.Model):
    """One document a publication changed. No revision: from here on it is not served."""

    publication = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="items")
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="publication_items")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="publication_items")
    was = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [UniqueConstraint(fields=["publication", "document"], name="one_publication_item_per_document")]

    def __str__(self) -> str:
        return f"{self.document_id} at {self.publication_id}"


class Suspension(models.Model):
    """A document served as not there until somebody decides; begun and ended by publications."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="suspensions")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+")
    begun = models.ForeignKey(Publication, on_delete=models.PROTECT, related_name="+")
    ended = models.ForeignKey(Publication, on_delete=models.PROTECT, null=True, related_name="+")
    reason = models.TextField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["document"], condition=Q(ended__isnull=True), name="one_suspension_at_a_time")
        ]

    def __str__(self) -> str:
        return f"suspension of {self.document_id}"
