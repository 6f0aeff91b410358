"""Which calls and cases this actor may touch; hidden and missing look the same."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.ledger.models import Intent, Run
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.settlement.models import Case, Claim, Evidence


def settler(actor: Actor, purpose: str) -> Actor:
    """The actor with rights read and locked now, who may `purpose`; call it first inside the deciding transaction."""
    people_access.require_scope(actor, Scope.DECIDE, purpose)
    actor = people_access.deciding(actor)
    people_access.require(actor, Role.SETTLER, purpose)
    return actor


def may_settle(actor: Actor) -> bool:
    """Whether pages offer this actor the verbs of a settler."""
    return actor.has(Role.SETTLER)


def intents(actor: Actor) -> QuerySet[Intent]:
    """Every call of the actor's workspace."""
    return Intent.objects.filter(workspace_id=actor.workspace_id)


def intent(actor: Actor, intent_id: UUID) -> Intent:
    """One call of the actor's workspace."""
    row = intents(actor).filter(pk=intent_id).first()
    if row is None:
        raise unknown_call()
    return row


def intent_with_case(actor: Actor, intent_id: UUID) -> Intent:
    """The same with what lists show beside it."""
    row = intents(actor).select_related("run__last_driver", "runtime", "revision", "case").filter(pk=intent_id).first()
    if row is None:
        raise unknown_call()
    return row


def run_of_call(actor: Actor, intent_id: UUID) -> Run:
    """The run of a call, locked, for an answer that is appended to it."""
    row = (
        Run.objects.select_for_update(no_key=True, of=("self",))
        .select_related("last_driver")
        .filter(workspace_id=actor.workspace_id, intents__pk=intent_id)
        .first()
    )
    if row is None:
        raise unknown_call()
    return row


def case_of(intent_id: UUID) -> Case | None:
    """The case of a call, locked, when it has one."""
    return Case.objects.select_for_update(no_key=True, of=("self",)).filter(intent_id=intent_id).first()


def open_claim(case: Case) -> Claim | None:
    """The claim on a locked case that nobody ended, lapsed or not."""
    return Claim.objects.select_related("person").filter(case=case, ended_at__isnull=True).first()


def evidence(actor: Actor, evidence_id: UUID) -> Evidence:
    """One piece of evidence of the actor's workspace."""
    row = Evidence.objects.filter(pk=evidence_id, case__workspace_id=actor.workspace_id).first()
    if row is None:
        raise Refusal("not_found", "There is no such evidence here. Open the call it belongs to and look there.")
    return row


def unknown_call() -> Refusal:
    return Refusal("not_found", "There is no such call here. Check the address, or start from the inbox.")
