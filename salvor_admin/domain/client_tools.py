"""Client tools: what an author may declare, and the three spellings a declaration has (TOML, document, listing)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from salvor_admin.domain import canonical
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json


class Absent(Enum):
    """Told apart from every value, null included."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool the client performs (contract 2.1)."""

    name: str
    effect: Effect
    input_schema: Json
    output_schema: Json = ABSENT
    trust_completion: bool = False
    require_equal: tuple[str, ...] = ()
    idempotency_key: tuple[str, ...] = ()


KEYS: Final = (
    "name",
    "effect",
    "input_schema",
    "output_schema",
    "trust_completion",
    "require_equal",
    "idempotency_key",
)
DOCUMENT_KEYS: Final = (*KEYS, "notes")
REQUIRED_KEYS: Final = ("name", "effect", "input_schema")


def from_document(value: Json) -> ClientTool:
    """The tool a parsed document declares, or the first rule it breaks (contract 2.2)."""
    if not isinstance(value, Mapping):
        raise Refusal("bad_request", "A client tool is an object with name, effect and input_schema.", place="")
    notes = value.get("notes", {})
    if notes != {}:
        raise Refusal("bad_request", "`notes` must be an empty object for now; leave it out.", place="/notes")
    return _declared({key: member for key, member in value.items() if key != "notes"})


def _declared(members: Mapping[str, Any]) -> ClientTool:
    return ClientTool(
        name=members["name"],
        effect=Effect(members["effect"]),
        input_schema=members["input_schema"],
        output_schema=members.get("output_schema", ABSENT),
        trust_completion=members.get("trust_completion", False),
        require_equal=tuple(members.get("require_equal", ())),
        idempotency_key=tuple(members.get("idempotency_key", ())),
    )


def listing_entry(tool: ClientTool) -> Json:
    """How `GET /v1/client-tools` shows the tool (contract 2.3)."""
    entry: dict[str, Any] = {
        "effect": str(tool.effect),
        "input_schema": tool.input_schema,
        "name": tool.name,
        "trust_completion": tool.trust_completion,
    }
    if tool.output_schema is not ABSENT:
        entry["output_schema"] = tool.output_schema
    if tool.require_equal:
        entry["require_equal"] = list(tool.require_equal)
    if tool.idempotency_key:
        entry["idempotency_key"] = list(tool.idempotency_key)
    return entry


def to_document(tool: ClientTool) -> Json:
    """The reviewed body: the listing's members, and what is reviewed beside them."""
    return {**listing_entry(tool), "notes": {}}


def document_text(tool: ClientTool) -> str:
    """The canonical text that a revision keeps and that its digest covers."""
    return canonical.text(to_document(tool))
