"""Tests of an agent's grants: calls with what is expected of them, judged as the live decision would (contract 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from salvor_admin.domain import call_cases, matching, sink, tool_ids, yaml_values
from salvor_admin.domain.labels import Labelled
from salvor_admin.domain.manifests import Manifest
from salvor_admin.domain.matching import CallDecision, Decision
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.shapes import named
from salvor_admin.domain.strict_json import Json

CALL_MEMBERS = ("name", "tool", "arguments", "label", "fields", "expect", "reason")
REASONS = frozenset({*matching.Reason, *sink.Reason})


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One call of a test file; `label` None stands for what the agent's own model writes."""

    name: str
    tool: str
    arguments: Json
    expect: Decision
    reason: str | None = None
    label: Json = None
    fields: Json = None


@dataclass(frozen=True, slots=True)
class TestFile:
    """Which manifest file is tested, and the calls."""

    __test__ = False  # no test class, whatever a test runner thinks of its name

    agent: str
    calls: tuple[ExpectedCall, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one expected call."""

    call: ExpectedCall
    decision: CallDecision

    @property
    def passed(self) -> bool:
        as_expected = self.decision.decision is self.call.expect
        return as_expected and (self.call.reason is None or self.decision.reason == self.call.reason)


def read_file(raw: bytes) -> TestFile:
    """A test file: `{agent, calls: [{name, tool, arguments, label?, fields?, expect, reason?}]}`, YAML as manifests are."""
    documents = [document.value for document in yaml_values.read_documents(raw) if document.value is not None]
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise _wrong("", "a test file is one mapping with `agent` and `calls`")
    top = documents[0]
    _only(top, ("agent", "calls"), "")
    calls = top.get("calls")
    if not isinstance(calls, list) or not calls:
        raise _wrong("/calls", "`calls` is a list of at least one call")
    return TestFile(
        _text(top.get("agent"), "/agent"), tuple(_call(call, f"/calls/{index}") for index, call in enumerate(calls))
    )


def _call(written: Json, place: str) -> ExpectedCall:
    if not isinstance(written, dict):
        raise _wrong(place, f"it is {named(written)}, but a call is a mapping")
    _only(written, CALL_MEMBERS, place)
    expect = written.get("expect")
    if not isinstance(expect, str) or expect not in set(Decision):
        raise _wrong(f"{place}/expect", f"it is {named(expect)}, but only {', '.join(Decision)} are known")
    reason = written.get("reason")
    if reason is not None and (not isinstance(reason, str) or reason not in REASONS):
        raise _wrong(f"{place}/reason", f"it is {named(reason)}, but only {', '.join(sorted(REASONS))} are known")
    if "arguments" not in written:
        raise _wrong(place, "the member `arguments` is missing")
    try:
        for member, read in (("label", call_cases.read_label), ("fields", _fields)):
            if written.get(member) is not None:
                read(written[member], f"{place}/{member}")
    except Refusal as refusal:
        raise Refusal("test_file_invalid", refusal.message, place=refusal.place) from None
    return ExpectedCall(
        name=_text(written.get("name"), f"{place}/name"),
        tool=_text(written.get("tool"), f"{place}/tool"),
        arguments=written["arguments"],
        expect=Decision(expect),
        reason=reason,
        label=written.get("label"),
        fields=written.get("fields"),
    )


def _fields(written: Json, place: str) -> dict[str, Any]:
    if not isinstance(written, dict):
        raise _wrong(place, f"it is {named(written)}, but a mapping of JSON pointers to labels is needed")
    return {path: call_cases.read_label(label, f"{place}/{path}") for path, label in written.items()}


def run(manifests: Sequence[Manifest], calls: Sequence[ExpectedCall]) -> list[Outcome]:
    """Every call judged against the one agent of a manifest file."""
    if len(manifests) != 1:
        raise _wrong("/agent", f"the manifest file holds {len(manifests)} agents; name a file with one")
    return [Outcome(call, decide(manifests[0], call)) for call in calls]


def decide(manifest: Manifest, call: ExpectedCall) -> CallDecision:
    """The decision on one call; a tool is named by its reference, or as the model would."""
    name = tool_ids.parse(call.tool).wire_name if tool_ids.is_reference(call.tool) else call.tool
    label = matching.bundle_label(manifest.agent) if call.label is None else call_cases.read_label(call.label, "/label")
    arguments = Labelled(call.arguments, label)
    if call.fields is not None:
        arguments = replace(arguments, fields=_fields(call.fields, "/fields"))
    return matching.decide_call(name, arguments, granted=manifest.grants, ceilings=matching.ceilings_of(manifest.agent))


def _only(members: dict[str, Any], known: Sequence[str], place: str) -> None:
    for member in members:
        if member not in known:
            raise _wrong(f"{place}/{member}", f"`{member}` is not known here; the members are {', '.join(known)}")


def _text(value: Json, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(place, f"it is {named(value)}, but a text is needed")
    return value


def _wrong(place: str, why: str) -> Refusal:
    return Refusal("test_file_invalid", f"At {place or 'the top'}: {why}.", place=place)
