"""What a rule of the provider check looks at, and what it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers.aliases import stable_alias
from salvor_admin.domain.providers.limits import Limit
from salvor_admin.domain.providers.strict import StrictVerdict
from salvor_admin.domain.strict_json import Json


@dataclass(frozen=True, slots=True)
class Sighting:
    """One place that a limit is about, before it has a target and a severity."""

    place: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Offered:
    """One declaration with the verdict on its strictness; None where the target knows no strictness."""

    offer: ToolDeclaration
    verdict: StrictVerdict | None

    @property
    def schema(self) -> Json:
        return self.offer.parameters

    @property
    def members(self) -> dict[str, Json]:
        """The members of the schema's root; none where it is no object."""
        return self.offer.parameters if isinstance(self.offer.parameters, dict) else {}

    @property
    def alias(self) -> str:
        """A name every target takes, to be proposed."""
        tool = self.offer.tool
        return stable_alias(tool.server, tool.tool) if tool else stable_alias("", self.offer.name)


Rule: TypeAlias = Callable[[Offered, Limit], Iterator[Sighting]]
OfferRule: TypeAlias = Callable[[Sequence[ToolDeclaration], Limit], Iterator[Sighting]]


def shown(text: str) -> str:
    """A text from outside, short and in ASCII, for a message."""
    return ascii(text if len(text) <= 80 else f"{text[:80]}…")
