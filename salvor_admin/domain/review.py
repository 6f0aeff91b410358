"""The approval flow as rules: states, verbs, who may, and what a digest covers (design sections 5 and 11)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role


class State(StrEnum):
    DRAFT = "draft"
    IN_REVIEW = "in_review"
    APPROVED = "approved"
    PUBLISHED = "published"
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    STALE = "stale"


FINAL = frozenset({State.PUBLISHED, State.REJECTED, State.WITHDRAWN})
OPEN = frozenset(State) - FINAL
#: A new revision brings these back to a draft that can be submitted.
REVISABLE = frozenset({State.DRAFT, State.IN_REVIEW, State.APPROVED, State.CHANGES_REQUESTED, State.STALE})


class Verdict(StrEnum):
    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    REJECT = "reject"


class Action(StrEnum):
    SET = "set"
    REMOVE = "remove"


class Kind(StrEnum):
    CLIENT_TOOL = "client_tool"
    TOOL_DECLARATION = "tool_declaration"
    GRANT = "grant"
    AGENT = "agent"
    STANDING_APPROVAL = "standing_approval"


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One document of a change request, as it is decided."""

    kind: str
    key: str
    action: str
    revision_digest: str
    base_digest: str
    base_is_live: bool
    #: Ids of everybody who wrote a revision after the base up to the one submitted (for a roll-back: the old one's author too).
    authors: frozenset[int]
    label: str = ""


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """A verdict that stands in the record, and whether the person who gave it still may."""

    person_id: int
    verdict: str
    digest: str
    person_may: bool = True


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A change request as the rules see it."""

    state: State
    digest: str
    quorum: int
    items: tuple[ItemFacts, ...]
    verdicts: tuple[GivenVerdict, ...] = ()
    #: Ids of blocking findings, and of those acknowledged with a reason.
    blocking: frozenset[str] = frozenset()
    acknowledged: frozenset[str] = frozenset()
    #: Who brought it into its state, and when; for whoever comes second.
    moved_by: str = ""
    moved_at: datetime | None = None
    #: It looks back at an emergency revoke that is live already: a reviewer closes it, and nothing else does.
    after_review: bool = False


@dataclass(frozen=True, slots=True)
class ActorFacts:
    """Who acts: fresh from the database in the deciding transaction."""

    person_id: int
    name: str
    roles: frozenset[Role]
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Transition:
    """What a decision does to the change request."""

    state: State
    approvals: int = 0


def request_digest(items: Iterable[ItemFacts]) -> str:
    """SHA-256 over the sorted lines kind, key, action, revision digest, base digest, NUL between (design 11)."""
    lines = sorted("\0".join((i.kind, i.key, i.action, i.revision_digest, i.base_digest)) for i in items)
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _refuse_state(request: RequestFacts, verb: str, legal: Collection[State], next_step: str) -> None:
    if request.state not in legal:
        since, details = "", {"state": request.state.value}
        if request.moved_at is not None:
            at = request.moved_at.astimezone(UTC)
            since = f" since {at:%d %B %Y, %H:%M:%S} UTC, by {request.moved_by}"
            details |= {"by": request.moved_by, "at": at.isoformat()}
        raise Refusal(
            "wrong_state",
            f"This change request is {request.state.value.replace('_', ' ')}{since}, so it cannot be {verb}; {next_step}",
            details=details,
        )


def _require_role(actor: ActorFacts, role: Role, verb: str) -> None:
    if not actor.is_active:
        raise Refusal("not_allowed", f"{actor.name} is deactivated and may not {verb}; ask an admin.")
    if role not in actor.roles:
        raise Refusal(
            "not_allowed",
            f"{actor.name} is no {role.value} in this workspace and may not {verb}; ask one who is.",
        )


def own_items(request: RequestFacts, person_id: int) -> list[ItemFacts]:
    """The items this person wrote a part of; whoever has any is barred from deciding."""
    return [item for item in request.items if person_id in item.authors]


def _refuse_own(request: RequestFacts, actor: ActorFacts, verb: str) -> None:
    own = own_items(request, actor.person_id)
    if own:
        names = ", ".join(item.label or item.key for item in own)
        raise Refusal(
            "own_revision",
            f"{actor.name} wrote or edited {names}, so {actor.name} may not {verb}; ask someone who did not write it.",
        )


def decide_submit(request: RequestFacts, actor: ActorFacts) -> Transition:
    """A draft goes to review; only an author submits."""
    _require_role(actor, Role.AUTHOR, "submit it")
    _refuse_state(
        request,
        "submitted",
        {State.DRAFT},
        "save a new revision first, or look at what was decided.",
    )
    if not request.items:
        raise Refusal("nothing_to_review", "A change request without items changes nothing; add a document to it.")
    stale = [item.label or item.key for item in stale_items(request)]
    if stale:
        raise Refusal(
            "stale_base",
            f"Something newer is live of {', '.join(stale)}; save a revision based on what is live now, then submit.",
        )
    return Transition(State.IN_REVIEW)


def may_give_verdict(request: RequestFacts, actor: ActorFacts) -> None:
    """Raises the refusal that stands between this person and a verdict; returns when none does."""
    _require_role(actor, Role.REVIEWER, "give a verdict")
    _refuse_own(request, actor, "give a verdict on it")
    _refuse_state(request, "judged", {State.IN_REVIEW}, "only what is in review takes verdicts.")


def decide_verdict(request: RequestFacts, actor: ActorFacts, verdict: Verdict, *, digest: str) -> Transition:
    """One reviewer's verdict, bound to the digest shown to them; the first reject is final, the quorum approves."""
    may_give_verdict(request, actor)
    if digest != request.digest:
        raise Refusal(
            "stale_digest",
            "The content changed since it was shown to you; nothing was recorded. Reload, read what changed, decide again.",
            details={"digest": request.digest},
        )
    if any(given.person_id == actor.person_id and given.digest == request.digest for given in request.verdicts):
        raise Refusal(
            "verdict_given",
            f"{actor.name} already gave a verdict on this digest; a verdict is not changed. A new revision asks again.",
            details={"state": request.state.value},
        )
    if verdict is Verdict.REJECT:
        return Transition(State.REJECTED)
    if verdict is Verdict.REQUEST_CHANGES:
        if request.after_review:
            raise Refusal(
                "wrong_state",
                "This looks back at an emergency revoke, and nothing can be changed in it. Approve it, or reject it with a "
                "reason; what should be live again is proposed anew.",
                details={"state": request.state.value},
            )
        return Transition(State.CHANGES_REQUESTED)
    missing = sorted(request.blocking - request.acknowledged)
    if missing:
        raise Refusal(
            "finding_unacknowledged",
            f"{len(missing)} blocking finding(s) stand; acknowledge each with a reason, or ask for changes.",
            place=missing[0],
        )
    approvals = standing_approvals(request) + 1
    return Transition(State.APPROVED if approvals >= request.quorum else State.IN_REVIEW, approvals)


def standing_approvals(request: RequestFacts) -> int:
    """Approvals for exactly this digest by people who still may give one."""
    barred = frozenset().union(*(item.authors for item in request.items)) if request.items else frozenset()
    return len(
        {
            given.person_id
            for given in request.verdicts
            if given.verdict == Verdict.APPROVE
            and given.digest == request.digest
            and given.person_may
            and given.person_id not in barred
        }
    )


def may_publish(request: RequestFacts, actor: ActorFacts) -> None:
    """Raises what stands between this person and publishing; publishing is deciding, so authors are barred."""
    _require_role(actor, Role.PUBLISHER, "publish it")
    _refuse_own(request, actor, "publish it")
    _refuse_state(request, "published", {State.APPROVED}, "it is published once approved, and once only.")


def decide_publish(request: RequestFacts, actor: ActorFacts, *, digest: str | None = None) -> Transition:
    """Everything that must still hold at the moment of publishing: people, digest, quorum, bases."""
    may_publish(request, actor)
    if digest is not None and digest != request.digest:
        raise Refusal(
            "stale_digest",
            "The content changed since it was shown to you; nothing was published. Reload and look again.",
            details={"digest": request.digest},
        )
    moved = [item.label or item.key for item in stale_items(request)]
    if moved:
        raise Refusal(
            "stale_base",
            f"Something newer is live of {', '.join(moved)}; nothing was published. Save a revision based on it first.",
            details={"state": request.state.value},
        )
    if standing_approvals(request) < request.quorum:
        raise Refusal(
            "quorum_missing",
            f"{request.quorum} standing approval(s) are needed and {standing_approvals(request)} stand: someone who approved "
            "lost the right to. Ask a reviewer for a verdict after saving the revision again.",
            details={"state": request.state.value},
        )
    return Transition(State.PUBLISHED)


def stale_items(request: RequestFacts) -> list[ItemFacts]:
    """Items whose base is no longer what is live."""
    return [item for item in request.items if not item.base_is_live]


def decide_withdraw(request: RequestFacts, actor: ActorFacts) -> Transition:
    """An author takes an open change request back; final."""
    _require_role(actor, Role.AUTHOR, "withdraw it")
    _refuse_state(request, "withdrawn", OPEN, "what is final stays as it was decided.")
    if request.after_review:
        raise Refusal(
            "wrong_state",
            "This looks back at an emergency revoke that is live already, so it stays open until a reviewer closes it.",
            details={"state": request.state.value},
        )
    return Transition(State.WITHDRAWN)


def decide_revise(request: RequestFacts, actor: ActorFacts) -> Transition:
    """A new revision of one of its documents: back to a draft, and every verdict given so far is void."""
    _require_role(actor, Role.AUTHOR, "save a revision")
    _refuse_state(request, "edited", REVISABLE, "open a new change request instead.")
    return Transition(State.DRAFT)


NEXT_STEP: Mapping[State, str] = {
    State.DRAFT: "Not submitted yet; only its authors work on it.",
    State.IN_REVIEW: "Waits for a reviewer who did not write it.",
    State.APPROVED: "Waits for a publisher who did not write it.",
    State.PUBLISHED: "Live since it was published.",
    State.CHANGES_REQUESTED: "A new revision brings it back.",
    State.REJECTED: "Final. A new change request starts over.",
    State.WITHDRAWN: "Final. A new change request starts over.",
    State.STALE: "Something newer went live underneath; a new revision is needed.",
}
