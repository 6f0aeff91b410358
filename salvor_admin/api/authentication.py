"""Bearer tokens: who calls, found by one statement and judged by the database's clock."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.db import connection
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Person, PersonalToken, Workspace
from salvor_admin.people.tokens import PERSONAL_PREFIX, RUNTIME_PREFIX, token_hash
from salvor_admin.runtimes.models import Runtime, RuntimeToken
from salvor_admin.web import prepared

_LONGEST_TOKEN: Final = 200


@dataclass(frozen=True, slots=True)
class RuntimeCaller:
    """A registered service; no person, and nothing it says decides."""

    runtime: Runtime
    workspace: Workspace

    @property
    def workspace_id(self) -> int:
        return self.workspace.pk


@dataclass(frozen=True, slots=True)
class PersonCaller:
    """A person's own automation: the person's rights in one workspace, as far as the token's scope reaches."""

    actor: Actor
    scope: Scope

    @property
    def workspace(self) -> Workspace:
        return self.actor.workspace

    @property
    def workspace_id(self) -> int:
        return self.actor.workspace_id


Caller: TypeAlias = RuntimeCaller | PersonCaller


class BearerToken(BaseAuthentication):
    """`Authorization: Bearer srt_…` or `spt_…`; a token that opens nothing is 401 and says why."""

    def authenticate(self, request: Request) -> tuple[Person | None, Caller] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > _LONGEST_TOKEN:
            raise _dead("The Authorization header holds no bearer token; send `Authorization: Bearer` and the token")
        if token.startswith(RUNTIME_PREFIX):
            return None, _runtime(token)
        if token.startswith(PERSONAL_PREFIX):
            caller = _person(token)
            return caller.actor.person, caller
        raise _dead("This is no token of ours: a runtime's begins with srt_, a person's with spt_")

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _dead(why: str) -> Refusal:
    return Refusal("unauthorized", f"{why}; an admin makes runtime tokens, and `create_token` makes personal ones.")


def _names(model: Any, but: Collection[str] = ()) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields if field.attname not in but]


def _listed(alias: str, model: Any, names: Collection[str]) -> str:
    columns = [field.column for field in model._meta.concrete_fields if field.attname in names]
    return ", ".join(f'{alias}."{column}"' for column in columns)


# What no answer to a runtime needs is left where it is: every column read costs as much as a rule.
_RUNTIME_NAMES: Final = _names(Runtime, but={"created_at", "created_by_id", "loaded_at"})
_PERSON_NAMES: Final = _names(Person, but={"password", "last_login", "joined_at"})
_WORKSPACE_NAMES: Final = _names(
    Workspace, but={"created_at", "mfa_required", "last_change_request", "last_case", "patience_seconds"}
)


#: What is asked of either table: dead in which way, and whether the last use was noted a minute ago or longer.
_STANDING: Final = """
    t.id, t.revoked_at IS NOT NULL, coalesce(t.expires_at <= statement_timestamp(), false),
    coalesce(t.last_used_at < statement_timestamp() - interval '1 minute', true)
"""
# Written out because it is asked before every request: building it anew costs more than asking it.
_RUNTIME: Final = f"""
SELECT {_STANDING}, {_listed("r", Runtime, _RUNTIME_NAMES)}, {_listed("w", Workspace, _WORKSPACE_NAMES)}
FROM runtimes_runtimetoken t
JOIN runtimes_runtime r ON r.id = t.runtime_id
JOIN people_workspace w ON w.id = r.workspace_id
WHERE t.token_hash = %s
"""  # noqa: S608
_PERSON: Final = f"""
SELECT {_STANDING}, t.scope, m.roles, {_listed("p", Person, _PERSON_NAMES)}, {_listed("w", Workspace, _WORKSPACE_NAMES)}
FROM people_personaltoken t
JOIN people_person p ON p.id = t.person_id
JOIN people_workspace w ON w.id = t.workspace_id
LEFT JOIN people_membership m ON m.person_id = p.id AND m.workspace_id = w.id
WHERE t.token_hash = %s
"""  # noqa: S608
# Noting a use waits for nobody: whoever holds the row writes something more important to it.
_NOTE_USE: Final = """
UPDATE {table} SET last_used_at = statement_timestamp()
WHERE id = (SELECT id FROM {table} WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED)
"""
_NOTE_RUNTIME_USE: Final = _NOTE_USE.format(table=RuntimeToken._meta.db_table)
_NOTE_PERSONAL_USE: Final = _NOTE_USE.format(table=PersonalToken._meta.db_table)


def _row(statement: str, token: str) -> tuple[Any, ...]:
    found = prepared.rows(statement, [token_hash(token)])
    if not found:
        raise _dead("Nobody has this token")
    row = found[0]
    if row[1]:
        raise _dead("This token was revoked")
    if row[2]:
        raise _dead("This token has expired")
    return row


def _note_use(statement: str, token_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [token_id])


def _runtime(token: str) -> RuntimeCaller:
    row = _row(_RUNTIME, token)
    token_id, _, _, is_due = row[:4]
    split = 4 + len(_RUNTIME_NAMES)
    runtime = Runtime.from_db("default", _RUNTIME_NAMES, row[4:split])
    workspace = Workspace.from_db("default", _WORKSPACE_NAMES, row[split:])
    if not runtime.is_active:
        raise _dead(f"The runtime {runtime.name} is switched off")
    if is_due:
        _note_use(_NOTE_RUNTIME_USE, token_id)
    runtime.workspace = workspace
    return RuntimeCaller(runtime, workspace)


def _person(token: str) -> PersonCaller:
    row = _row(_PERSON, token)
    token_id, _, _, is_due, scope, roles = row[:6]
    split = 6 + len(_PERSON_NAMES)
    person = Person.from_db("default", _PERSON_NAMES, row[6:split])
    workspace = Workspace.from_db("default", _WORKSPACE_NAMES, row[split:])
    if not person.is_active or roles is None:
        raise _dead("The person behind this token no longer has access to its workspace")
    if not workspace.personal_tokens_allowed:
        raise _dead("Personal tokens are forbidden in this workspace")
    if is_due:
        _note_use(_NOTE_PERSONAL_USE, token_id)
    held = Scope(scope)
    actor = Actor(person, workspace, frozenset(Role(role) for role in roles), via="api", scope=held)
    return PersonCaller(actor, held)
