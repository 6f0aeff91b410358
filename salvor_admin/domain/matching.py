"""A model's call against what was offered and granted: exact name, declared schema, approval, sink (contract 7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from salvor_admin.domain import argument_schemas, declarations, labels, sink, tool_ids
from salvor_admin.domain.agents import Agent
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.grants import ToolGrant
from salvor_admin.domain.labels import Label, Labelled, Sensitivity
from salvor_admin.domain.sink import CatalogueEntry, Ceilings, Judgement
from salvor_admin.domain.strict_json import Json

#: What a model is told of a name nobody offered; it names no other tool.
TOLD_UNKNOWN_NAME = "There is no tool of that name for you to call."
#: What a model is told when a person said no, or nobody said anything in time.
TOLD_REJECTED = "This call was not approved and was not carried out."


class Decision(StrEnum):
    ALLOW = "allow"
    REFUSE = "refuse"
    HOLD = "hold"


class Reason(StrEnum):
    """Why a call never came to the sink; the sink's own reasons are `sink.Reason`."""

    UNKNOWN_NAME = "unknown_name"
    INVALID_ARGUMENTS = "invalid_arguments"
    REQUIRES_APPROVAL = "requires_approval"


@dataclass(frozen=True, slots=True)
class CallDecision:
    """What becomes of one call; `told` is all that a model may hear of a refusal."""

    decision: Decision
    reason: Reason | sink.Reason | None = None
    told: str | None = None
    path: str | None = None
    source: str | None = None
    grant: ToolGrant | None = None
    judgement: Judgement | None = None

    @property
    def ends_run(self) -> bool:
        """Whether the refusal has to leave the loop instead of being told."""
        return self.judgement is not None and self.judgement.decision is sink.Decision.RUN_ENDS


def offers(granted: Iterable[ToolGrant]) -> list[ToolDeclaration]:
    """What a declarative agent's model is offered, in grant order, never with a cache mark (contract 2.2)."""
    return [
        declarations.offering(
            tool_ids.parse(grant.reference),
            grant.description or "",
            argument_schemas.ANY_OBJECT if grant.arguments is None else grant.arguments,
        )
        for grant in granted
    ]


def granted_by_name(name: str, granted: Iterable[ToolGrant]) -> ToolGrant | None:
    """The grant a wire name means, byte for byte; no trimming, folding or guessing."""
    for grant in granted:
        if tool_ids.is_reference(grant.reference) and tool_ids.parse(grant.reference).wire_name == name:
            return grant
    return None


def bundle_label(agent: Agent, conversation: Label = labels.TRUSTED_CONSTANT) -> Label:
    """The one label of everything a model wrote into a call (contract 7.6)."""
    return labels.model_completion(
        agent.model_source or "model:unknown", ceiling=agent.egress_ceiling, conversation=conversation
    )


def ceilings_of(agent: Agent, *, plane_journal: Sensitivity | None = None) -> Ceilings:
    """The ceilings the agent sets beside its grants."""
    return Ceilings(egress=agent.egress_ceiling, journal=agent.journal_ceiling, plane_journal=plane_journal)


def decide_call(
    name: str,
    arguments: Labelled,
    *,
    granted: Sequence[ToolGrant],
    ceilings: Ceilings = Ceilings(),  # noqa: B008
    catalogue: CatalogueEntry | None = None,
    standing_approval: bool = False,
) -> CallDecision:
    """What becomes of a call by its wire name; `catalogue` replaces the entry that the grant gives.

    A call that needs a person is held even where the sink would refuse it: an amendment may change that.
    """
    grant = granted_by_name(name, granted)
    if grant is None:
        return CallDecision(Decision.REFUSE, Reason.UNKNOWN_NAME, TOLD_UNKNOWN_NAME)
    unfit = argument_schemas.violation(grant.arguments, arguments.value)
    if unfit is not None:
        return CallDecision(Decision.REFUSE, Reason.INVALID_ARGUMENTS, unfit, grant=grant)
    judgement = _judged(grant, arguments, ceilings, catalogue)
    if grant.requires_approval and not standing_approval:
        return CallDecision(Decision.HOLD, Reason.REQUIRES_APPROVAL, grant=grant, judgement=judgement)
    return _decided(grant, judgement)


def decide_approved_call(
    grant: ToolGrant,
    arguments: Labelled,
    *,
    amendment: Json = labels.NOTHING,
    ceilings: Ceilings = Ceilings(),  # noqa: B008
    catalogue: CatalogueEntry | None = None,
) -> CallDecision:
    """What becomes of a held call that a person approved: their yes changes no label, their amendment does (7.1)."""
    if amendment is not labels.NOTHING and amendment is not None:
        unfit = argument_schemas.violation(grant.arguments, amendment)
        if unfit is not None:
            told = f"The amendment made on approval does not fit. {unfit}"
            return CallDecision(Decision.REFUSE, Reason.INVALID_ARGUMENTS, told, grant=grant)
        arguments = amended(arguments, amendment)
    return _decided(grant, _judged(grant, arguments, ceilings, catalogue))


def amended(arguments: Labelled, amendment: Json) -> Labelled:
    """The arguments a person wrote instead: trusted, from that decision, as sensitive as those they replace."""
    label = Label(labels.Trust.TRUSTED, arguments.label.sensitivity, frozenset({"task:agent.approve_call"}))
    return Labelled(amendment, label)


def _judged(grant: ToolGrant, arguments: Labelled, ceilings: Ceilings, catalogue: CatalogueEntry | None) -> Judgement:
    return sink.judge(
        reference=grant.reference,
        arguments=arguments,
        grant=grant,
        catalogue=CatalogueEntry.derived_from(grant) if catalogue is None else catalogue,
        ceilings=ceilings,
    )


def _decided(grant: ToolGrant, judgement: Judgement) -> CallDecision:
    if judgement.decision is sink.Decision.ALLOW:
        return CallDecision(Decision.ALLOW, grant=grant, judgement=judgement)
    return CallDecision(
        Decision.REFUSE,
        judgement.reason,
        judgement.told,
        path=judgement.path,
        source=judgement.source,
        grant=grant,
        judgement=judgement,
    )
