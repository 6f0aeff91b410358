"""People, the workspaces they work in, and the tokens that speak for them."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint
from django.db.models.functions import Lower

from salvor_admin.domain.rights import TOKEN_SCOPES, Role


class Workspace(models.Model):
    """One team's walled space."""

    key = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    # Seconds: how long a trusted call may stay silent; how long people have to answer; how long a claim holds.
    patience_seconds = models.PositiveIntegerField(default=15 * 60)
    answer_seconds = models.PositiveIntegerField(default=4 * 3600)
    claim_seconds = models.PositiveIntegerField(default=15 * 60)
    personal_tokens_allowed = models.BooleanField(default=True)
    mfa_required = models.BooleanField(default=False)
    # The greatest numbers given out so far; moved only by `people.services.next_number`.
    last_change_request = models.PositiveIntegerField(default=0)
    last_case = models.PositiveIntegerField(default=0)
    last_publication = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.key


class PersonManager(BaseUserManager["Person"]):
    def get_by_natural_key(self, username: str | None) -> Person:
        return self.get(username__iexact=username)


class Person(AbstractBaseUser):
    """Somebody who signs in. Deactivated, never deleted."""

    username = models.CharField(max_length=60)
    name = models.CharField(max_length=120)
    email = models.EmailField(blank=True)
    is_active = models.BooleanField(default=True)
    is_superuser = models.BooleanField(default=False)
    must_change_password = models.BooleanField(default=False)
    joined_at = models.DateTimeField()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = PersonManager()

    class Meta:
        constraints = [
            # Ana@x and ana@x are one person: who wrote a thing is told by id, so a second spelling makes no second id.
            UniqueConstraint(Lower("username"), name="one_person_per_username"),
        ]

    def __str__(self) -> str:
        return self.username

    @property
    def initials(self) -> str:
        words = self.name.split() or [self.username]
        return (words[0][:1] + (words[-1][:1] if len(words) > 1 else "")).upper()


class Membership(models.Model):
    """What one person may do in one workspace."""

    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="memberships")
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=20), default=list)
    since = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["person", "workspace"], name="one_membership_per_person"),
            CheckConstraint(
                condition=Q(roles__contained_by=[role.value for role in Role]), name="membership_roles_are_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.workspace_id}"


class PersonalToken(models.Model):
    """A person's own token for one workspace; stored hashed, shown once."""

    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="tokens")
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="personal_tokens")
    name = models.CharField(max_length=120)
    scope = models.CharField(max_length=10)
    token_hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            CheckConstraint(condition=Q(scope__in=list(TOKEN_SCOPES)), name="personal_token_scope_is_known"),
            CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="personal_token_expires_later"),
        ]

    def __str__(self) -> str:
        return self.name
