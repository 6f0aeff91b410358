"""What is special per kind of document, in one table: reading a body, its key, its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from salvor_admin.domain import canonical, client_tools
from salvor_admin.domain.findings import client_tools as client_tool_findings
from salvor_admin.domain.findings.finding import Finding
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.domain.strict_json import Json


@dataclass(frozen=True, slots=True)
class Reading:
    """A body as its kind reads it: the canonical text that is stored and hashed, and what it is called."""

    kind: Kind
    key: str
    label: str
    text: str
    digest: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Rules:
    read: Callable[[Json], Any]
    key: Callable[[Any], str]
    label: Callable[[Any], str]
    text: Callable[[Any], str]
    findings: Callable[[Any], list[Finding]]


_RULES: Mapping[Kind, _Rules] = {
    Kind.CLIENT_TOOL: _Rules(
        read=client_tools.from_document,
        key=lambda tool: str(tool.name),
        label=lambda tool: str(tool.name),
        text=client_tools.document_text,
        findings=client_tool_findings.find,
    ),
}


def kinds() -> frozenset[Kind]:
    """The kinds that can be reviewed here."""
    return frozenset(_RULES)


def read(kind: str, body: Json) -> Reading:
    """A parsed body read by its kind's rules; raises the kind's refusal, or `unknown_kind`."""
    if kind not in {known.value for known in _RULES}:
        raise Refusal(
            "unknown_kind",
            f"{kind!r} is no kind of document here; the kinds are {', '.join(sorted(known.value for known in _RULES))}.",
            place="kind",
        )
    rules = _RULES[Kind(kind)]
    document = rules.read(body)
    text = rules.text(document)
    return Reading(
        kind=Kind(kind),
        key=rules.key(document),
        label=rules.label(document),
        text=text,
        digest=canonical.digest(text),
        findings=tuple(rules.findings(document)),
    )
