"""Tool ids, their text references and the names a model sees (contract 1 and 2.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from salvor_admin.domain.refusals import Refusal

SCHEME = "tool://"
AGENT_SERVER = "agent"

# The drivers answer forced structured output through a tool of their own; an offer of that name would lose its calls.
RESERVED_WIRE_NAMES = frozenset({"agentplane_respond", "__agentplane_respond"})

_COMPONENT = re.compile(r"[A-Za-z0-9_.]+")


@dataclass(frozen=True, slots=True, order=True)
class ToolId:
    """A (server, tool) pair; it may be built from any two texts, so its reference need not parse."""

    server: str
    tool: str

    @property
    def reference(self) -> str:
        return f"{SCHEME}{self.server}/{self.tool}"

    @property
    def wire_name(self) -> str:
        """The name a model calls the tool by: dots become hyphens, two underscores in between."""
        return f"{self.server.replace('.', '-')}__{self.tool.replace('.', '-')}"

    @property
    def is_consultation(self) -> bool:
        """Whether the id names another agent of the plane and not a tool server."""
        return self.server == AGENT_SERVER

    def __str__(self) -> str:
        return self.reference


def component_problem(text: str) -> str | None:
    """What keeps a text from being the server or tool part of a reference; None when nothing does."""
    if not text:
        return "it is empty"
    if not _COMPONENT.fullmatch(text):
        odd = next(sign for sign in text if not _COMPONENT.fullmatch(sign))
        return f"it holds {odd!a}, and only letters, digits, '_' and '.' of ASCII may stand there"
    if text.startswith("_") or text.endswith("_"):
        return "it starts or ends with '_'"
    if "__" in text:
        return "it holds '__', which separates server and tool in the wire name"
    return None


def parse(reference: str, *, place: str | None = None) -> ToolId:
    """The id a reference names; anything outside the grammar is refused, nothing is trimmed or folded (contract 1)."""
    if not reference.startswith(SCHEME):
        raise _refused(reference, f"it does not begin with {SCHEME}", place)
    parts = reference[len(SCHEME) :].split("/")
    if len(parts) != 2:
        raise _refused(reference, "exactly one '/' has to stand between server and tool", place)
    for noun, part in zip(("server", "tool"), parts, strict=True):
        problem = component_problem(part)
        if problem is not None:
            raise _refused(reference, f"its {noun} part is not usable: {problem}", place)
    return ToolId(parts[0], parts[1])


def is_reference(text: str) -> bool:
    """Whether a text is a tool reference."""
    try:
        parse(text)
    except Refusal:
        return False
    return True


def _refused(reference: str, why: str, place: str | None) -> Refusal:
    shown = reference if len(reference) <= 200 else f"{reference[:200]}…"
    return Refusal(
        "tool_reference_invalid",
        f"{shown!a} is not a tool reference: {why}. Write tool://SERVER/TOOL with the names the deployment uses.",
        place=place,
    )
