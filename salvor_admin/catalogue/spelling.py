"""The two ways to write a client tool, as fields and as TOML, and going from one to the other without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from salvor_admin.domain import client_tools, strict_json, toml_text
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json
from salvor_admin.reviews.models import Revision

SCHEMAS: Final = ("input_schema", "output_schema")
LISTS: Final = ("require_equal", "idempotency_key")
#: Nobody types a schema deeper than this by hand; TOML goes on to 79 a header.
DEEPEST: Final = 150


@dataclass(slots=True)
class Draft:
    """What was typed, as far as it can be read: its members, and why the rest cannot."""

    members: dict[str, Json] = field(default_factory=dict)
    faults: list[Refusal] = field(default_factory=list)
    tool: ClientTool | None = None

    def by_key(self) -> dict[str, list[Refusal]]:
        """The faults by the key they are about; empty for those about the whole."""
        found: dict[str, list[Refusal]] = {}
        for fault in self.faults:
            key = (fault.place or "").split("/")[1] if (fault.place or "").startswith("/") else ""
            found.setdefault(key if key in client_tools.KEYS else "", []).append(fault)
        return found


# --- fields ----------------------------------------------------------------------------------------------------------


def read_fields(typed: Mapping[str, Any]) -> Draft:
    """The draft that these fields hold. Empty: the key is left out."""
    draft = Draft()
    unread: list[str] = []
    if typed.get("name"):
        draft.members["name"] = typed["name"]
    if typed.get("effect"):
        draft.members["effect"] = typed["effect"]
    for key in (*SCHEMAS, *LISTS):
        text = str(typed.get(key) or "")
        if not text.strip():
            continue
        try:
            draft.members[key] = _schema(key, text) if key in SCHEMAS else names(key, text)
        except Refusal as refusal:
            unread.append(key)
            draft.faults.append(refusal)
    if typed.get("trust_completion"):
        draft.members["trust_completion"] = True
    draft.faults += client_tools.faults(draft.members, unread=unread)
    if not draft.faults:
        draft.tool = client_tools.from_document(draft.members)
    return draft


def _schema(key: str, text: str) -> Json:
    try:
        return strict_json.read_strict(text.encode(), max_depth=DEEPEST)
    except Refusal as refusal:
        raise Refusal(refusal.code, refusal.message, place=f"/{key}{refusal.place or ''}") from None


def names(key: str, text: str) -> Json:
    """A list of names as people type it: with a comma between, or as a JSON list where a name holds one."""
    if text.lstrip().startswith("["):
        try:
            return strict_json.read_strict(text.encode())
        except Refusal as refusal:
            raise Refusal(refusal.code, refusal.message, place=f"/{key}") from None
    return [name.strip() for name in text.split(",") if name.strip()]


def fields_of(members: Mapping[str, Json]) -> dict[str, Any]:
    """The fields that read back as these members."""
    typed: dict[str, Any] = {
        "name": members.get("name", ""),
        "effect": members.get("effect", ""),
        "trust_completion": members.get("trust_completion", False),
    }
    for key in SCHEMAS:
        typed[key] = json.dumps(members[key], indent=2, ensure_ascii=False) if key in members else ""
    for key in LISTS:
        typed[key] = _names_text(members.get(key, []))
    return typed


def _names_text(listed: Sequence[str]) -> str:
    plain = ", ".join(listed)
    return plain if names("", plain) == list(listed) else json.dumps(list(listed), ensure_ascii=False)


# --- TOML ------------------------------------------------------------------------------------------------------------


def read_toml(text: str) -> Draft:
    """The draft that a TOML text holds; every fault names its line."""
    raw = text.encode("utf-8", "surrogatepass")
    draft = Draft()
    try:
        members = toml_text.read(raw)
    except Refusal as refusal:
        draft.faults.append(refusal)
        return draft
    try:
        draft.tool = client_tools.from_toml(raw)
    except Refusal as first:
        draft.faults += [_with_line(fault, raw) for fault in client_tools.faults(members)] or [first]
        draft.members = {key: value for key, value in members.items() if key in client_tools.KEYS}
    else:
        draft.members = client_tools.listing_entry(draft.tool)
    return draft


def _with_line(fault: Refusal, raw: bytes) -> Refusal:
    key = (fault.place or "/").split("/")[1].replace("~1", "/").replace("~0", "~")
    line = toml_text.line_of(raw, key) if key else None
    if line is None:
        return fault
    return Refusal(
        fault.code, f"Line {line}: {fault.message}", place=fault.place, details={**fault.details, "line": line}
    )


_ORDER: Final = (
    "name",
    "effect",
    "trust_completion",
    "require_equal",
    "idempotency_key",
    "input_schema",
    "output_schema",
)


def toml_of(members: Mapping[str, Json], kept: str = "") -> str:
    """The TOML text of these members; `kept`, with its comments, where it still says just this."""
    if kept and _says(read_toml(kept), members):
        return kept
    return toml_text.write({key: members[key] for key in _ORDER if key in members})


def _says(draft: Draft, members: Mapping[str, Json]) -> bool:
    if draft.tool is None or client_tools.faults(members):
        return False
    return client_tools.document_text(draft.tool) == client_tools.document_text(client_tools.from_document(members))


def members_of(revision: Revision) -> dict[str, Json]:
    """The members of a stored revision."""
    return dict(client_tools.listing_entry(client_tools.from_document_text(revision.body)))


def kept_toml(revision: Revision) -> str:
    """The TOML a revision was handed in as, comments and all; empty where it was not, or says something else."""
    if revision.source_bytes is None:
        return ""
    try:
        text = bytes(revision.source_bytes).decode()
    except UnicodeDecodeError:
        return ""
    return text if _says(read_toml(text), members_of(revision)) else ""
