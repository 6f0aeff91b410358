"""Findings about grants with their agent: what can never fire, or fires more than it seems (contract 8, P1 to P5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from salvor_admin.domain import argument_schemas, canonical, hidden_text, tool_ids
from salvor_admin.domain.agents import Agent
from salvor_admin.domain.findings.finding import Finding, Severity, first_of_each_kind
from salvor_admin.domain.grants import ProtectedField, ToolGrant
from salvor_admin.domain.labels import Sensitivity, highest
from salvor_admin.domain.manifests import Manifest
from salvor_admin.domain.strict_json import Json, pointer

LONGEST_MENU = 50
_REFERS = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef|id)"')
_MODEL_WRITES = ("tool-calling",)


def find(manifest: Manifest) -> list[Finding]:
    """What the rules see in one manifest; places point into the whole document."""
    return list(first_of_each_kind(_in_manifest(manifest)))


def find_in_grant(grant: ToolGrant, agent: Agent | None, at: str = "") -> list[Finding]:
    """What is to be seen in one grant; `agent` None where its frame is not known yet."""
    offered = () if agent is None else agent.offer_order
    return list(first_of_each_kind(_in_grant(grant, agent, offered, at, argument_schemas.Room())))


def _in_manifest(manifest: Manifest) -> Iterator[Finding]:
    agent, room = manifest.agent, argument_schemas.Room()
    offered = agent.offer_order
    yield from _ceilings_of_agent(agent)
    for index, grant in enumerate(manifest.grants):
        yield from _in_grant(grant, agent, offered, pointer("/spec/tools", index), room)
    yield from _odd_scalars(manifest)


def _in_grant(
    grant: ToolGrant, agent: Agent | None, offered: Sequence[str], at: str, room: argument_schemas.Room
) -> Iterator[Finding]:
    yield from _in_description(grant, at)
    yield from _in_arguments(grant, at, room)
    if agent is not None and not grant.is_consultation and agent.execution_kind in _MODEL_WRITES:
        yield from _never_fires(grant, agent, at)
        for index, field in enumerate(grant.protected_fields):
            yield from _in_field(grant, field, agent, offered, pointer(f"{at}/protected_fields", index))
    yield from _lifted_gate(grant, at)


def find_in_offers(agent: Agent, granted: list[ToolGrant], declared: list[tool_ids.ToolId]) -> list[Finding]:
    """Tools declared to the model without a grant, and granted ones nobody declares to it."""
    references = {grant.reference for grant in granted}
    offered = {tool.reference for tool in declared}
    found = [
        Finding(
            "declared_not_granted",
            Severity.BLOCK,
            "/tool",
            f"{reference} is declared to the model of {agent.name}, but not granted, so every call of it ends the run.",
            "Grant the tool, or take the declaration back.",
        )
        for reference in sorted(offered - references)
    ]
    found.extend(
        Finding(
            "granted_not_declared",
            Severity.WARN,
            "/ref",
            f"{reference} is granted to {agent.name}, but not declared to its model, which can never ask for it.",
            "Declare the tool, or take the grant back.",
        )
        for reference in sorted(references - offered)
    )
    return found


# --- ceilings (P4) -----------------------------------------------------------------------------------------------------


def _ceilings_of_agent(agent: Agent) -> Iterator[Finding]:
    if agent.execution_kind not in _MODEL_WRITES or not agent.offer_order:
        return
    at = "/spec/security/max_sensitivity_egress"
    if agent.egress_ceiling is Sensitivity.PUBLIC:
        yield Finding(
            "egress_below_model",
            Severity.BLOCK,
            at,
            "Nothing above public may leave the agent, but what its model writes is internal at least, so every call is refused.",
            "Raise max_sensitivity_egress to internal or above.",
        )
    if agent.egress_ceiling is None:
        yield Finding(
            "egress_ceiling_missing",
            Severity.WARN,
            at,
            "Without this ceiling a model call may be sent public values only, so the turn after the first tool result is "
            "refused and the run fails.",
            "Set max_sensitivity_egress to internal or above.",
        )


def _never_fires(grant: ToolGrant, agent: Agent, at: str) -> Iterator[Finding]:
    written = highest(Sensitivity.INTERNAL, agent.egress_ceiling)
    ceiling = grant.max_sensitivity or Sensitivity.PUBLIC
    if written.above(ceiling):
        absent = (
            "has no max_sensitivity, which means public"
            if grant.max_sensitivity is None
            else f"allows {ceiling} at most"
        )
        yield Finding(
            "grant_never_fires",
            Severity.BLOCK,
            f"{at}/max_sensitivity",
            f"The grant {absent}, but what this agent's model writes is {written}, so every call is refused.",
            f"Set max_sensitivity to {written}, or lower the agent's max_sensitivity_egress.",
        )


# --- field rules (P1, P2, P5) ------------------------------------------------------------------------------------------


def _in_field(
    grant: ToolGrant, field: ProtectedField, agent: Agent, offered: Sequence[str], at: str
) -> Iterator[Finding]:
    written = highest(Sensitivity.INTERNAL, agent.egress_ceiling)
    shown = field.path or "the whole value"
    if field.require_trusted:
        amendable = grant.requires_approval
        yield Finding(
            "trust_needs_amendment" if amendable else "trust_never_given",
            Severity.WARN if amendable else Severity.BLOCK,
            f"{at}/require_trusted",
            f"What a model writes is never trusted, so {shown} passes only where the approver writes the arguments anew."
            if amendable
            else f"What a model writes is never trusted, so {shown} never passes and no call is ever made.",
            "Use one_of or allowed_sources, or say in the description that the approver has to amend the call."
            if amendable
            else "Use one_of or allowed_sources, or ask for approval so that a person can amend the call.",
        )
    if field.allowed_sources:
        yield from _sources(grant, field, agent, offered, at)
    if field.max_sensitivity is not None and written.above(field.max_sensitivity):
        yield Finding(
            "field_never_passes",
            Severity.BLOCK,
            f"{at}/max_sensitivity",
            f"What this agent's model writes is {written}, so {shown} is always above {field.max_sensitivity}.",
            f"Raise it to {written}, or remove the rule.",
        )


def _sources(
    grant: ToolGrant, field: ProtectedField, agent: Agent, offered: Sequence[str], at: str
) -> Iterator[Finding]:
    shown, allowed = field.path or "the whole value", frozenset(field.allowed_sources)
    place = f"{at}/allowed_sources"
    if agent.model_source is not None and agent.model_source not in allowed:
        yield Finding(
            "model_not_a_source",
            Severity.BLOCK,
            place,
            f"Whatever a model writes names the model as a source, and {shown} does not allow {agent.model_source}.",
            "Add the model's source, or use one_of.",
        )
        return
    missing = list(islice((reference for reference in offered if reference not in allowed), 5))
    if missing:
        itself = " An answer of this tool itself does too, so a second call in the same run is refused." * (
            grant.reference not in allowed
        )
        yield Finding(
            "source_closes_after_results",
            Severity.WARN,
            place,
            f"Once an answer of {', '.join(missing)} has entered the conversation, {shown} refuses every call.{itself}",
            "Add those tools if their answers may lead to this call, or use one_of.",
        )


def _lifted_gate(grant: ToolGrant, at: str) -> Iterator[Finding]:
    if grant.mutates and grant.protected_fields and not any(field.bounds_authority for field in grant.protected_fields):
        yield Finding(
            "gate_lifted_by_ceilings",
            Severity.WARN,
            f"{at}/protected_fields",
            "A protected field of any kind lifts the check on the whole bundle, and these say only how secret a value may be, "
            "not who may write it.",
            "Add require_trusted, allowed_sources or one_of to a field that matters.",
        )


# --- texts and schemas -------------------------------------------------------------------------------------------------


def _in_description(grant: ToolGrant, at: str) -> Iterator[Finding]:
    hidden = hidden_text.count_hidden(grant.description or "")
    if hidden:
        characters = "1 character" if hidden == 1 else f"{hidden} characters"
        yield Finding(
            "hidden_characters",
            Severity.WARN,
            f"{at}/description",
            f"{characters} of the description cannot be seen as they are, and a model reads them all the same.",
            "Take them out, or write the description anew.",
        )


def _in_arguments(grant: ToolGrant, at: str, room: argument_schemas.Room) -> Iterator[Finding]:
    if room.is_used_up and grant.arguments is not None:
        yield Finding(
            "arguments_not_tried",
            Severity.BLOCK,
            f"{at}/arguments",
            "The patterns of the grants before it already take all the room there is for one manifest.",
            "Write fewer or simpler patterns.",
        )
    why = room.problem(grant.arguments)
    if why is not None:
        yield Finding(
            "arguments_no_schema",
            Severity.BLOCK,
            f"{at}/arguments",
            f"The arguments' schema checks nothing, {why}; every call is refused.",
            "Correct the schema, or remove it to admit any object.",
        )
    properties = grant.arguments.get("properties") if isinstance(grant.arguments, dict) else None
    if not isinstance(properties, dict) or grant.arguments.get("additionalProperties") is not False:
        return
    required = grant.arguments.get("required")
    listed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    for index, field in enumerate(grant.protected_fields):
        first = field.path.split("/")[1].replace("~1", "/").replace("~0", "~") if field.path.startswith("/") else None
        if first is not None and first not in properties:
            yield Finding(
                "field_not_in_schema",
                Severity.BLOCK,
                f"{pointer(f'{at}/protected_fields', index)}/path",
                f"The schema admits no member `{first}`, and a protected field that is missing refuses the call, so none is "
                "ever made.",
                "Correct the path, or declare the member.",
            )
        elif first is not None and first not in listed:
            yield Finding(
                "field_optional",
                Severity.NOTE,
                f"{pointer(f'{at}/protected_fields', index)}/path",
                f"`{first}` may be left out by the schema, but a call without it is refused at the sink.",
                "List it as required, so that the model is told.",
            )
        if first is not None and field.path == pointer("", first):
            yield from _menu(
                field, properties.get(first), grant.arguments, pointer(f"{at}/protected_fields", index), room
            )


def _menu(field: ProtectedField, member: Json, whole: Json, at: str, room: argument_schemas.Room) -> Iterator[Finding]:
    """A list of values of which the schema admits none; a member that refers elsewhere is not judged by itself."""
    if not 0 < len(field.one_of) <= LONGEST_MENU or not isinstance(member, dict):
        return
    if _REFERS.search(canonical.text(member)):
        return
    alone = {"$schema": whole["$schema"], **member} if "$schema" in whole else member
    if room.problem(alone) is not None or room.is_used_up:
        return
    if all(argument_schemas.violation(alone, value) is not None for value in field.one_of):
        yield Finding(
            "menu_not_in_schema",
            Severity.BLOCK,
            f"{at}/one_of",
            f"The schema admits none of the values listed for {field.path}, so every call is refused by the one or the other.",
            "Make the list and the schema say the same.",
        )


def _odd_scalars(manifest: Manifest) -> Iterator[Finding]:
    for place in manifest.odd_scalars:
        yield Finding(
            "scalar_read_differently",
            Severity.WARN,
            place,
            "Two builds of agentplane read this scalar differently, so the file has two digests.",
            "Put it in quotes, or write it in its usual spelling.",
        )
