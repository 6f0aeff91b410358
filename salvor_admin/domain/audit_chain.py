"""The audit chain: the exact text of an entry, and what makes a chain whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

#: What the first entry names as the digest before it.
GENESIS = "sha256:" + "0" * 64


def instant(at: datetime) -> str:
    """An aware time as RFC 3339 UTC with microseconds, always spelled alike."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def entry_text(
    *,
    workspace: str,
    number: int,
    action: str,
    subject_kind: str,
    subject_id: str,
    actor_id: int | None,
    actor_name: str,
    via: str,
    at: datetime,
    details: Mapping[str, Any],
    previous_digest: str,
) -> str:
    """The text that is hashed: compact JSON, keys sorted, one spelling."""
    return json.dumps(
        {
            "action": action,
            "actor": {"id": actor_id, "name": actor_name},
            "at": instant(at),
            "details": dict(details),
            "number": number,
            "previous": previous_digest,
            "subject": {"id": subject_id, "kind": subject_kind},
            "via": via,
            "workspace": workspace,
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An audit row as it lies in the table."""

    number: int
    action: str
    subject_kind: str
    subject_id: str
    actor_id: int | None
    actor_name: str
    via: str
    at: datetime
    text: str
    previous_digest: str
    digest: str


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain is not whole, and how it shows."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many entries were read, and the first break; none means the chain is whole."""

    entries: int
    head_digest: str
    broken: Break | None


def verify(entries: Iterable[StoredEntry], *, workspace: str, head_number: int, head_digest: str) -> Verdict:
    """Reads the chain in order and names the first entry that does not fit."""
    previous = GENESIS
    count = 0
    for entry in entries:
        expected = count + 1
        if entry.number != expected:
            return Verdict(count, previous, Break(expected, f"entry {expected} is missing; {entry.number} follows"))
        if digest(entry.text) != entry.digest:
            return Verdict(
                count,
                previous,
                Break(expected, f"its stored digest is {entry.digest}; its text gives {digest(entry.text)}"),
            )
        if entry.previous_digest != previous:
            return Verdict(count, previous, Break(expected, "it does not name the digest of the entry before it"))
        problem = _columns_differ(entry, workspace)
        if problem:
            return Verdict(count, previous, Break(expected, problem))
        previous = entry.digest
        count = expected
    if (count, previous) != (head_number, head_digest):
        return Verdict(
            count,
            previous,
            Break(
                count + 1,
                f"the chain head says entry {head_number} is the last, {count} is; entries are missing at the end",
            ),
        )
    return Verdict(count, previous, None)


def _columns_differ(entry: StoredEntry, workspace: str) -> str | None:
    try:
        read = json.loads(entry.text)
        said = {
            "number": read["number"],
            "action": read["action"],
            "subject_kind": read["subject"]["kind"],
            "subject_id": read["subject"]["id"],
            "actor_id": read["actor"]["id"],
            "actor_name": read["actor"]["name"],
            "via": read["via"],
            "at": read["at"],
            "previous_digest": read["previous"],
            "workspace": read["workspace"],
        }
    except (ValueError, KeyError, TypeError):
        return "its text is no audit entry"
    stands = {
        "number": entry.number,
        "action": entry.action,
        "subject_kind": entry.subject_kind,
        "subject_id": entry.subject_id,
        "actor_id": entry.actor_id,
        "actor_name": entry.actor_name,
        "via": entry.via,
        "at": instant(entry.at),
        "previous_digest": entry.previous_digest,
        "workspace": workspace,
    }
    differing = sorted(name for name in stands if stands[name] != said[name])
    return f"its columns say otherwise than its text: {', '.join(differing)}" if differing else None
