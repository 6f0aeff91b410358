"""Findings about grants with their agent: what can never fire, or fires more than it seems (contract 8, P1 to P5)."""

from __future__ import annotations

from collections.abc import Iterator

from salvor_admin.domain import argument_schemas, hidden_text, tool_ids
from salvor_admin.domain.agents import Agent
from salvor_admin.domain.findings.finding import Finding, Severity
from salvor_admin.domain.grants import ProtectedField, ToolGrant
from salvor_admin.domain.labels import Sensitivity, highest
from salvor_admin.domain.manifests import Manifest
from salvor_admin.domain.strict_json import pointer

_MODEL_WRITES = ("tool-calling",)


def find(manifest: Manifest) -> list[Finding]:
    """Everything the rules see in one manifest; places point into the whole document."""
    found: list[Finding] = [*_ceilings_of_agent(manifest.agent)]
    for index, grant in enumerate(manifest.grants):
        at = pointer("/spec/tools", index)
        found.extend(find_in_grant(grant, manifest.agent, at))
    found.extend(_odd_scalars(manifest))
    return found


def find_in_grant(grant: ToolGrant, agent: Agent | None, at: str = "") -> list[Finding]:
    """What is to be seen in one grant; `agent` None where its frame is not known yet."""
    found = [*_in_description(grant, at), *_in_arguments(grant, at)]
    if agent is not None and not grant.is_consultation and agent.execution_kind in _MODEL_WRITES:
        found.extend(_never_fires(grant, agent, at))
        for index, field in enumerate(grant.protected_fields):
            found.extend(_in_field(grant, field, agent, pointer(f"{at}/protected_fields", index)))
    found.extend(_lifted_gate(grant, at))
    return found


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


def _in_field(grant: ToolGrant, field: ProtectedField, agent: Agent, at: str) -> Iterator[Finding]:
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
        yield from _sources(grant, field, agent, at)
    if field.max_sensitivity is not None and written.above(field.max_sensitivity):
        yield Finding(
            "field_never_passes",
            Severity.BLOCK,
            f"{at}/max_sensitivity",
            f"What this agent's model writes is {written}, so {shown} is always above {field.max_sensitivity}.",
            f"Raise it to {written}, or remove the rule.",
        )


def _sources(grant: ToolGrant, field: ProtectedField, agent: Agent, at: str) -> Iterator[Finding]:
    shown = field.path or "the whole value"
    place = f"{at}/allowed_sources"
    if agent.model_source is not None and agent.model_source not in field.allowed_sources:
        yield Finding(
            "model_not_a_source",
            Severity.BLOCK,
            place,
            f"Whatever a model writes names the model as a source, and {shown} does not allow {agent.model_source}.",
            "Add the model's source, or use one_of.",
        )
        return
    missing = [reference for reference in agent.offer_order if reference not in field.allowed_sources]
    if missing:
        itself = " This tool is one of them, so a second call in the same run is refused." * (
            grant.reference in missing
        )
        yield Finding(
            "source_closes_after_results",
            Severity.WARN,
            place,
            f"Once an answer of {', '.join(missing[:5])} has entered the conversation, {shown} refuses every call.{itself}",
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


def _in_arguments(grant: ToolGrant, at: str) -> Iterator[Finding]:
    why = argument_schemas.problem(grant.arguments)
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
        elif first is not None and first not in (grant.arguments.get("required") or ()):
            yield Finding(
                "field_optional",
                Severity.NOTE,
                f"{pointer(f'{at}/protected_fields', index)}/path",
                f"`{first}` may be left out by the schema, but a call without it is refused at the sink.",
                "List it as required, so that the model is told.",
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
