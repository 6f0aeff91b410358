"""Findings about tools as an MCP server lists them (contract 6.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from salvor_admin.domain import argument_schemas, closed_schemas, drafting, drift, hidden_text, tool_ids
from salvor_admin.domain.drafting import ListedTool
from salvor_admin.domain.findings.finding import Finding, Severity
from salvor_admin.domain.grants import ToolGrant, is_blank

PORTABLE_NAME_LENGTH = 64
MOST_OPENINGS = 20
_MARKERS = frozenset({"$schema", "$id", "$comment", "title", "description"})


def find(listed: ListedTool, beside: Sequence[ListedTool] = ()) -> list[Finding]:
    """Everything the rules see in one listed tool; `beside` is the rest of its listing."""
    whole = [listed, *(other for other in beside if other is not listed)]
    return _find(listed, _Names(whole), argument_schemas.Room())


def find_all(listing: Sequence[ListedTool]) -> list[list[Finding]]:
    """The findings of each tool of one listing."""
    names, room = _Names(listing), argument_schemas.Room()
    return [_find(listed, names, room) for listed in listing]


class _Names:
    """How often each name stands in a listing, as it is and without regard to capital letters."""

    def __init__(self, listing: Sequence[ListedTool]) -> None:
        self.exact = Counter(listed.tool.tool for listed in listing)
        self.folded = Counter(name.casefold() for name in self.exact)


def _find(listed: ListedTool, names: _Names, room: argument_schemas.Room) -> list[Finding]:
    return [
        *_in_names(listed, names),
        *_in_description(listed),
        *_in_schema(listed, room),
        *_in_hints(listed),
    ]


def _in_names(listed: ListedTool, names: _Names) -> Iterator[Finding]:
    count = names.exact[listed.tool.tool]
    if count > 1:
        yield Finding(
            "tool_listed_twice",
            Severity.BLOCK,
            "/name",
            f"The server lists {count} tools of this name, and a call could mean any of them.",
            "Have the server's owner rename or remove all but one; neither the first nor the last is taken.",
        )
    elif names.folded[listed.tool.tool.casefold()] > 1:
        yield Finding(
            "names_differ_in_case",
            Severity.WARN,
            "/name",
            "Another tool of this server has the same name but for capital letters.",
            "Look twice which of them is meant; they are two tools.",
        )
    if listed.tool.is_consultation:
        yield Finding(
            "server_alias_reserved",
            Severity.BLOCK,
            "/name",
            f"The alias {tool_ids.AGENT_SERVER} means other agents of the plane, so no call would ever reach this server.",
            "Give the server another alias.",
        )
    wire_name = listed.tool.wire_name
    if len(wire_name.encode()) > PORTABLE_NAME_LENGTH or not wire_name[:1].isalpha():
        yield Finding(
            "wire_name_not_portable",
            Severity.WARN,
            "/name",
            f"The model's name for it has {len(wire_name.encode())} bytes and begins with {wire_name[:1]!a}; not every "
            f"provider takes more than {PORTABLE_NAME_LENGTH} or another start than a letter.",
            "Check it against the providers this agent will use, or have the alias or the name shortened.",
        )


def _in_description(listed: ListedTool) -> Iterator[Finding]:
    if is_blank(listed.description):
        yield Finding(
            "description_missing",
            Severity.WARN,
            "/description",
            "The server describes nothing, and a tool-calling or planned agent's manifest is refused without a text.",
            "Write the description a model should choose this tool by.",
        )
    hidden = hidden_text.count_hidden(listed.description)
    if hidden:
        characters = "1 character" if hidden == 1 else f"{hidden} characters"
        yield Finding(
            "hidden_characters",
            Severity.WARN,
            "/description",
            f"{characters} of the description cannot be seen as they are, and a model reads them all the same.",
            "Write the description anew instead of taking it over.",
        )


def _in_schema(listed: ListedTool, room: argument_schemas.Room) -> Iterator[Finding]:
    schema, drafted = listed.input_schema, drafting.draft(listed)
    if schema.get("type") != "object":
        marked_only = schema.keys() <= _MARKERS
        yield Finding(
            "schema_says_nothing" if marked_only else "schema_no_object",
            Severity.WARN if marked_only else Severity.BLOCK,
            "/inputSchema",
            "The input schema holds only its own markings, so it admits anything."
            if marked_only
            else "The input schema does not have `type: object`, but arguments are always an object.",
            "Write the arguments' schema yourself, or have the server's owner do it.",
        )
    if room.is_used_up:
        yield Finding(
            "schema_not_tried",
            Severity.BLOCK,
            "/inputSchema",
            "The patterns of the tools before it already take all the room there is for one listing.",
            "Have the server's owner write fewer or simpler patterns.",
        )
    why = room.problem(schema)
    if why is not None:
        yield Finding(
            "schema_unusable",
            Severity.BLOCK,
            "/inputSchema",
            f"The input schema checks nothing: {why}. Every call would be refused.",
            "Correct it by hand, its $schema included, or have the server's owner do it.",
        )
    if closed_schemas.composes(schema):
        yield Finding(
            "schema_not_narrowed",
            Severity.NOTE,
            "/inputSchema",
            "The input schema is composed of others, so it was drafted as the server sent it.",
            "Close its objects by hand where the agent is declarative.",
        )
    for opening in islice(closed_schemas.openings(drafted.arguments, "arguments", "/inputSchema"), MOST_OPENINGS):
        yield Finding(
            "schema_still_open",
            Severity.WARN,
            opening.pointer,
            f"{opening.dotted} {opening.why}; a declarative agent's manifest is refused with it.",
            "List every property there and set additionalProperties to false.",
        )
    if drafting.loses_a_constraint(listed):
        yield Finding(
            "draft_loses_a_constraint",
            Severity.WARN,
            "/inputSchema",
            "Narrowed as agentplane does it, the schema no longer says what the server's says.",
            "Take the draft that keeps the constraints, and mark that drift will then be reported for ever.",
        )


def _in_hints(listed: ListedTool) -> Iterator[Finding]:
    if drift.overclaims(ToolGrant(listed.reference), listed.hints):
        yield Finding(
            "hints_claim_safety",
            Severity.NOTE,
            "/annotations",
            "The server claims that the tool is safer than a mutating one; such hints are no evidence.",
            "Decide yourself whether it only reads.",
        )
