"""From an MCP server's listing to draft grants; nothing a server says becomes a term of the grant (contract 6.2 to 6.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from salvor_admin.domain import canonical, closed_schemas, strict_json, tool_ids
from salvor_admin.domain.grants import ToolGrant
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.shapes import named
from salvor_admin.domain.strict_json import Json, pointer
from salvor_admin.domain.tool_ids import ToolId

MOST_BYTES = 4 * 1024 * 1024
MOST_VALUES = 200_000
MOST_TOOLS = 5_000


@dataclass(frozen=True, slots=True)
class Hints:
    """What a server claims about its tool; None where it claims nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as the server under the operator's alias lists it, whatever it is called."""

    tool: ToolId
    description: str
    input_schema: Json
    hints: Hints = Hints()

    @property
    def reference(self) -> str:
        return self.tool.reference

    @property
    def listing_digest(self) -> str:
        """Changes with everything of the listing that a draft or a reviewer rests on; the alias is not in it."""
        text = canonical.rfc8785(
            {
                "name": self.tool.tool,
                "description": self.description,
                "input_schema": self.input_schema,
                "annotations": {
                    "read_only": self.hints.read_only,
                    "destructive": self.hints.destructive,
                    "idempotent": self.hints.idempotent,
                },
            }
        )
        return hashlib.sha256(text.encode()).hexdigest()


# --- reading ---------------------------------------------------------------------------------------------------------


def read_listing(pages: Sequence[Json], server: str) -> list[ListedTool]:
    """All pages as the reference's client reads them: one unreadable tool loses the whole listing (contract 6.2)."""
    tools: list[ListedTool] = []
    for page in pages:
        next_cursor(page)
        for index, listed in enumerate(listed_tools(page)):
            tools.append(read_tool(listed, server, place=pointer("/tools", index)))
    return tools


def read_page(raw: bytes) -> list[Json]:
    """What stands in `tools` of a file that holds one `tools/list` result, unread."""
    if len(raw) > MOST_BYTES or strict_json.is_crowded(raw, MOST_VALUES):
        raise Refusal(
            "listing_unreadable",
            f"The listing has more than {MOST_BYTES} bytes or {MOST_VALUES} values; save fewer tools in one file.",
            place="",
        )
    try:
        page = strict_json.read(raw)
    except Refusal as refusal:
        raise Refusal("listing_unreadable", refusal.message, place="") from None
    next_cursor(page)
    listed = listed_tools(page)
    if len(listed) > MOST_TOOLS:
        raise Refusal(
            "listing_unreadable",
            f"The listing holds {len(listed)} tools and may hold {MOST_TOOLS}; save fewer in one file.",
            place="/tools",
        )
    return listed


def next_cursor(page: Json) -> str | None:
    """The cursor of the next page, the empty text included; None where this page is the last."""
    cursor = page.get("nextCursor") if isinstance(page, dict) else None
    if cursor is not None and not isinstance(cursor, str):
        raise _unreadable("/nextCursor", f"The cursor is {named(cursor)}, but a text is needed")
    return cursor


def listed_tools(page: Json) -> list[Json]:
    """What stands in `tools`, unread."""
    if not isinstance(page, dict):
        raise _unreadable("", f"The result is {named(page)}, but a tools/list result is an object")
    tools = page.get("tools")
    if not isinstance(tools, list):
        raise _unreadable("/tools", f"`tools` is {named(tools)}, but a list is needed")
    return tools


def read_tool(listed: Json, server: str, *, place: str = "") -> ListedTool:
    """One listed tool; its name is taken as it is, also where no reference can carry it."""
    if not isinstance(listed, dict):
        raise _unreadable(place, f"The tool is {named(listed)}, but an object is needed")
    name, schema = listed.get("name"), listed.get("inputSchema")
    if not isinstance(name, str):
        raise _unreadable(f"{place}/name", f"The name is {named(name)}, but a text is needed")
    if not isinstance(schema, dict):
        raise _unreadable(
            f"{place}/inputSchema", f"The input schema of {name[:80]!a} is {named(schema)}, but an object is needed"
        )
    output = listed.get("outputSchema")
    if output is not None and not isinstance(output, dict):
        raise _unreadable(
            f"{place}/outputSchema", f"The output schema of {name[:80]!a} is {named(output)}, but an object is needed"
        )
    return ListedTool(
        tool=ToolId(server, name),
        description=_text(listed, "description", place, name) or "",
        input_schema=schema,
        hints=_hints(listed.get("annotations"), f"{place}/annotations", name),
    )


def _text(listed: dict[str, Json], member: str, place: str, name: str) -> str | None:
    value = listed.get(member)
    if value is not None and not isinstance(value, str):
        raise _unreadable(f"{place}/{member}", f"The {member} of {name[:80]!a} is {named(value)}, but a text is needed")
    return value


def _hints(annotations: Json, place: str, name: str) -> Hints:
    if annotations is None:
        return Hints()
    if not isinstance(annotations, dict):
        raise _unreadable(place, f"The annotations of {name[:80]!a} are {named(annotations)}, but an object is needed")
    read: dict[str, bool | None] = {}
    for hint in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"):
        value = annotations.get(hint)
        if value is not None and not isinstance(value, bool):
            raise _unreadable(f"{place}/{hint}", f"{hint} of {name[:80]!a} is {named(value)}, but a boolean is needed")
        read[hint] = value
    return Hints(read["readOnlyHint"], read["destructiveHint"], read["idempotentHint"])


def _unreadable(place: str, why: str) -> Refusal:
    return Refusal("listing_unreadable", f"{why}; ask the server's owner to correct it, and list again.", place=place)


def fingerprint(listed: Json) -> str:
    """Changes with anything a server says of its tool, title, output schema and unknown members included.

    The listing digest covers only what the reference carries; both schemas and every hint are covered here.
    """
    return canonical.digest(canonical.text(listed))


# --- drafting --------------------------------------------------------------------------------------------------------


def draft(listed: ListedTool) -> ToolGrant:
    """Exactly the reference's draft: mutating whatever the hints say, no terms, the schema narrowed (contract 6.3)."""
    return ToolGrant(
        reference=listed.reference,
        mutates=True,
        description=listed.description,
        arguments=closed_schemas.narrow(listed.input_schema),
    )


def draft_kept(listed: ListedTool) -> ToolGrant:
    """The same draft with every constraint of the server's schema kept; equal to `draft` where that loses none."""
    return replace(draft(listed), arguments=closed_schemas.narrow_keeping(listed.input_schema))


def loses_a_constraint(listed: ListedTool) -> bool:
    """Whether the reference's draft holds the arguments to something else than the server does."""
    return not canonical.equal(draft(listed).arguments, draft_kept(listed).arguments)


def check_reference(listed: ListedTool) -> None:
    """Refuses a tool that no reference can name; it is reported, never renamed (contract 6.6)."""
    tool_ids.parse(listed.reference, place="/name")
