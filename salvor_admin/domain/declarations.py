"""Tool declarations: what a model is offered, which by itself allows nothing (contract 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json
from salvor_admin.domain.tool_ids import ToolId


class CacheTtl(StrEnum):
    """How long a provider keeps the request's prefix up to a declaration."""

    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """One tool as a request declares it; `tool` stays on our side and is never sent."""

    name: str
    description: str
    parameters: Json
    cache: CacheTtl | None = None
    tool: ToolId | None = None

    def named(self, name: str) -> ToolDeclaration:
        """The same offer under another name."""
        return replace(self, name=name)

    def cache_breakpoint(self, ttl: CacheTtl) -> ToolDeclaration:
        """The same offer with the end of a cached prefix marked at it, itself included."""
        return replace(self, cache=ttl)


def new(name: str, description: str, parameters: Json) -> ToolDeclaration:
    """A tool outside any catalogue, answered by whoever declares it."""
    return ToolDeclaration(name=name, description=description, parameters=parameters)


def offering(tool: ToolId, description: str, parameters: Json) -> ToolDeclaration:
    """A catalogue tool offered under its wire name."""
    return ToolDeclaration(name=tool.wire_name, description=description, parameters=parameters, tool=tool)


def answered_tool(call_name: str, offers: Iterable[ToolDeclaration]) -> ToolId:
    """The tool that a model's call by this name runs; no offer, two offers or an offer of no tool is refused (2.2)."""
    named = [offer for offer in offers if offer.name == call_name]
    if not named:
        raise Refusal("tool_not_offered", f"No offered tool is called {call_name!a}; call one of the offered names.")
    if len(named) > 1:
        raise Refusal(
            "tool_offered_twice",
            f"{len(named)} offers are called {call_name!a}, so the call could mean either; give each its own name.",
        )
    tool = named[0].tool
    if tool is None:
        raise Refusal(
            "offer_without_tool",
            f"The offer {call_name!a} stands for no catalogue tool; whoever declared it has to answer the call.",
        )
    return tool
