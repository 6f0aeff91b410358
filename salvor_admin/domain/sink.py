"""The sink: whether one tool call may leave the run, and why not (contract 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from salvor_admin.domain import canonical, labels
from salvor_admin.domain.grants import ProtectedField, ToolGrant, sorted_fields
from salvor_admin.domain.labels import Label, Labelled, Mark, Sensitivity, Trust
from salvor_admin.domain.strict_json import Json, pointer

#: What a model may be told of a refusal here: the same whatever the cause.
TOLD = "This call is not permitted and was not carried out."


class Decision(StrEnum):
    ALLOW = "allow"
    REFUSE = "refuse"
    RUN_ENDS = "run_ends"
    NOT_PREPARED = "not_prepared"
    RELEASE_REFUSED = "release_refused"


class Reason(StrEnum):
    """Why a call was not allowed, for people; a model hears `TOLD` alone."""

    NOT_IN_CATALOGUE = "not_in_catalogue"
    ARGUMENTS_MISMATCH = "arguments_mismatch"
    EGRESS = "egress"
    JOURNAL = "journal"
    TAINT = "taint"
    RELEASE_DESTINATION = "release_destination"
    FIELD_MISSING = "field_missing"
    FIELD_TAINT = "field_taint"
    FIELD_RELEASE_DESTINATION = "field_release_destination"
    FIELD_SOURCE = "field_source"
    FIELD_VALUE = "field_value"
    FIELD_CEILING = "field_ceiling"
    NOT_DECLARED = "not_declared"
    RELEASE_DENIED = "release_denied"
    UNTRACKED_RELEASE_FIELD = "untracked_release_field"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """What the deployment says of a tool; cautious where it says nothing."""

    mutates: bool = True
    max_sensitivity: Sensitivity = Sensitivity.PUBLIC
    protected_fields: tuple[ProtectedField, ...] = ()
    output_sensitivity: Sensitivity = Sensitivity.PUBLIC

    @classmethod
    def derived_from(cls, grant: ToolGrant) -> CatalogueEntry:
        """The entry a manifest's grant gives; an absent ceiling becomes public."""
        return cls(
            mutates=grant.mutates,
            max_sensitivity=grant.max_sensitivity or Sensitivity.PUBLIC,
            protected_fields=tuple(sorted_fields(grant.protected_fields)),
        )


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the agent and the plane allow beside the grant; None sets no bound."""

    egress: Sensitivity | None = None
    journal: Sensitivity | None = None
    plane_journal: Sensitivity | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision on one call; `path` and `source` say where, where a field or an argument is the cause."""

    decision: Decision
    reason: Reason | None = None
    path: str | None = None
    source: str | None = None

    @property
    def told(self) -> str | None:
        """What a tool loop hands the model; None where the call is allowed or the error leaves the loop."""
        return TOLD if self.decision in (Decision.REFUSE, Decision.NOT_PREPARED) else None


ALLOWED = Judgement(Decision.ALLOW)
_UNSENT: Json = labels.NOTHING


def judge(
    *,
    reference: str,
    arguments: Labelled,
    grant: ToolGrant | None,
    catalogue: CatalogueEntry | None,
    ceilings: Ceilings = Ceilings(),
    bound: Json = _UNSENT,
) -> Judgement:
    """The whole procedure of contract 8, the first failure counting; `bound` is what would really be sent."""
    if catalogue is None:
        return Judgement(Decision.NOT_PREPARED, Reason.NOT_IN_CATALOGUE)
    refused = (
        _other_arguments(arguments.value, bound)
        or _above_ceilings(reference, arguments, grant, catalogue, ceilings)
        or _unfit_authority(reference, arguments, grant, catalogue)
    )
    if refused is not None:
        return refused
    return ALLOWED if _is_declared(reference, grant, catalogue) else Judgement(Decision.RUN_ENDS, Reason.NOT_DECLARED)


def _refuse(reason: Reason, path: str | None = None, source: str | None = None) -> Judgement:
    return Judgement(Decision.REFUSE, reason, path, source)


# --- step 2 ----------------------------------------------------------------------------------------------------------


def _other_arguments(labelled: Json, bound: Json) -> Judgement | None:
    if bound is _UNSENT or canonical.rfc8785(labelled) == canonical.rfc8785(bound):
        return None
    return _refuse(Reason.ARGUMENTS_MISMATCH, first_difference(labelled, bound))


def first_difference(one: Json, other: Json, at: str = "") -> str:
    """The pointer of the first place where two values differ, members in sorted order."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            here = pointer(at, name)
            if name not in one or name not in other:
                return here
            if canonical.rfc8785(one[name]) != canonical.rfc8785(other[name]):
                return first_difference(one[name], other[name], here)
    if isinstance(one, list) and isinstance(other, list):
        for index, (left, right) in enumerate(zip(one, other, strict=False)):
            if canonical.rfc8785(left) != canonical.rfc8785(right):
                return first_difference(left, right, f"{at}/{index}")
        if len(one) != len(other):
            return f"{at}/{min(len(one), len(other))}"
    return at


# --- steps 3 to 5 ----------------------------------------------------------------------------------------------------


def _whole(reference: str, arguments: Labelled) -> Label:
    whole = replace(arguments, marks=tuple(mark for mark in arguments.marks if mark.scope == ""))
    return labels.effective(whole, reference) or arguments.label


def _above_ceilings(
    reference: str, arguments: Labelled, grant: ToolGrant | None, catalogue: CatalogueEntry, ceilings: Ceilings
) -> Judgement | None:
    granted = None if grant is None else grant.max_sensitivity
    egress = labels.strictest(catalogue.max_sensitivity, granted, ceilings.egress)
    if _whole(reference, arguments).sensitivity.above(egress):
        return _refuse(Reason.EGRESS)
    journal = labels.strictest(ceilings.journal, ceilings.plane_journal)
    # The unimproved label: a release says where a value may go, not that it may be kept for ever.
    if arguments.label.sensitivity.above(journal):
        return _refuse(Reason.JOURNAL)
    return None


# --- steps 6 to 8 ----------------------------------------------------------------------------------------------------


def _unfit_authority(
    reference: str, arguments: Labelled, grant: ToolGrant | None, catalogue: CatalogueEntry
) -> Judgement | None:
    if catalogue.protected_fields:
        for field in catalogue.protected_fields:
            refused = _unfit_field(reference, arguments, field)
            if refused is not None:
                return refused
        return None
    mutates = catalogue.mutates or (grant is not None and grant.mutates)
    if mutates and _whole(reference, arguments).trust is Trust.UNTRUSTED:
        elsewhere = _trusted_elsewhere(reference, [mark for mark in arguments.marks if mark.scope == ""])
        return _refuse(Reason.RELEASE_DESTINATION if elsewhere else Reason.TAINT)
    return None


def _unfit_field(reference: str, arguments: Labelled, field: ProtectedField) -> Judgement | None:
    value = labels.resolve(arguments.value, field.path)
    label = labels.effective(arguments, reference, field.path)
    if label is None:
        return _refuse(Reason.FIELD_MISSING, field.path)
    if field.require_trusted and label.trust is Trust.UNTRUSTED:
        elsewhere = _trusted_elsewhere(reference, [mark for mark in arguments.marks if mark.covers(field.path)])
        return _refuse(Reason.FIELD_RELEASE_DESTINATION if elsewhere else Reason.FIELD_TAINT, field.path)
    if field.allowed_sources:
        strange = sorted(label.provenance.difference(field.allowed_sources), key=str.encode)
        if strange or not label.provenance:
            return _refuse(Reason.FIELD_SOURCE, field.path, strange[0] if strange else None)
    if field.one_of and canonical.equality_text(value) not in map(canonical.equality_text, field.one_of):
        return _refuse(Reason.FIELD_VALUE, field.path)
    if field.max_sensitivity is not None and label.sensitivity.above(field.max_sensitivity):
        return _refuse(Reason.FIELD_CEILING, field.path)
    return None


def _trusted_elsewhere(reference: str, marks: Sequence[Mark]) -> bool:
    return any(mark.trust and mark.destination != reference for mark in marks)


# --- step 9 ----------------------------------------------------------------------------------------------------------


def _is_declared(reference: str, grant: ToolGrant | None, catalogue: CatalogueEntry) -> bool:
    if grant is None or grant.reference != reference:
        return False
    declared = [field.tree() for field in sorted_fields(grant.protected_fields)]
    known = [field.tree() for field in sorted_fields(catalogue.protected_fields)]
    return canonical.equal(declared, known)
