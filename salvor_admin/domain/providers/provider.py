"""What every provider's file offers to the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers import strict
from salvor_admin.domain.providers.strict import StrictVerdict, Subset
from salvor_admin.domain.providers.turns import Continuation, Events, Exchange, Turn
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

RESPOND_DESCRIPTION = "Return the answer in the required shape."


class OutputMode(StrEnum):
    """How an answer of a given shape is asked for: by the provider's own member, or by a tool it has to call."""

    NATIVE = "native"
    FORCED = "forced"


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The shape an answer has to take; without a mode the driver's usual one is meant."""

    schema: Json
    mode: OutputMode | None = None


@dataclass(frozen=True, slots=True)
class RenderedOffer:
    """The request member that carries the tools (None: the request has none), and the choice forced beside it."""

    value: Json
    choice: Json = None


class Renderer(Protocol):
    def __call__(self, offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None) -> RenderedOffer: ...


class Conversation(Protocol):
    def __call__(
        self,
        prompt: Json,
        exchanges: Sequence[Exchange] = (),
        *,
        continuation: Continuation | None = None,
        person_turns: Sequence[str] = (),
    ) -> Json: ...


class AnswerReader(Protocol):
    def __call__(self, text: str, *, status: int = 200) -> Turn: ...


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider's wire: where the tools stand, how answers are read and results sent back."""

    name: str
    title: str
    offer_member: str
    choice_member: str | None
    conversation_member: str
    tag: str
    subset: Subset | None
    budget: strict.StrictBudget | None
    render_offer: Renderer
    render_conversation: Conversation
    read_answer: AnswerReader
    read_stream: Callable[[Events], Turn]
    spell: Callable[[Json], str]

    def strict_verdicts(self, offers: Sequence[ToolDeclaration]) -> list[StrictVerdict] | list[None]:
        """Which of the offers go out strict, and what stands against the others; None each where nothing is sent."""
        if self.subset is None:
            return [None] * len(offers)
        return strict.verdicts([offer.parameters for offer in offers], self.subset, budget=self.budget)


def forced_tool(output: OutputSchema | None, offers: Sequence[ToolDeclaration], *, name: str) -> ToolDeclaration | None:
    """The synthetic tool of a forced answer; refused beside real tools, which the model could then never call."""
    if output is None or output.mode is not OutputMode.FORCED:
        return None
    if offers:
        raise Refusal(
            "output_schema_refused",
            "In forced mode, structured output is one synthetic tool that the model has to call, so the declared tools "
            "beside it would never be: send no callable tools, or ask for the native mode.",
            place="output_schema",
        )
    return ToolDeclaration(name=name, description=RESPOND_DESCRIPTION, parameters=output.schema)


def required_strict(output: OutputSchema, subset: Subset, *, budget: strict.StrictBudget | None) -> strict.StrictCost:
    """What a response schema takes from the budget; outside the subset or the budget it is refused (contract 4)."""
    found = strict.problems(output.schema, subset)
    if found:
        raise Refusal(
            "output_schema_refused",
            f"The output schema is outside the strict subset: {'; '.join(each.sentence for each in found[:20])}. "
            "Change the schema, or ask for the answer another way.",
            place=found[0].path,
            details={"problems": [{"path": each.path, "code": each.code} for each in found]},
        )
    wanted = strict.cost(output.schema)
    if budget is not None and not strict.fits(wanted, budget):
        raise Refusal(
            "output_schema_refused",
            f"The output schema does not fit the strict budget of one request: {wanted.options} of {budget.options} "
            f"optional and {wanted.unions} of {budget.unions} union properties. Require more of them.",
            place="output_schema",
        )
    return wanted
