"""What a manifest's grants have to satisfy together with their agent (contract 5.4, rules 7 to 14, 19 and 22)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salvor_admin.domain import closed_schemas
from salvor_admin.domain.grants import ToolGrant, check_grant, check_rate_limit, is_blank, refuse_rule
from salvor_admin.domain.shapes import Place

TOOLS = Place("spec.tools", "/spec/tools")

Spec = Mapping[str, Any]


def kind_of(spec: Spec) -> str | None:
    """The execution kind; None for an agent written in code."""
    execution = spec.get("execution")
    return None if execution is None else str(execution["kind"])


def check_approval(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 7: a call that asks for a person needs somewhere to ask, and a loop that waits."""
    for index, grant in enumerate(grants):
        if not grant.requires_approval:
            continue
        at = TOOLS.item(index).member("requires_approval").pointer
        if "oversight" not in spec:
            refuse_rule(
                "approval",
                at,
                f"spec.tools[].requires_approval: '{grant.reference}' asks for a person, but there is no "
                "spec.oversight that says whom and until when; add it, or drop requires_approval",
            )
        if kind_of(spec) not in ("tool-calling", "planned", "call"):
            refuse_rule(
                "approval",
                at,
                f"spec.tools[].requires_approval: '{grant.reference}' asks for a person, but only tool-calling, planned "
                "and call agents wait for one; change execution.kind, or drop requires_approval",
            )


def check_previews(grants: Sequence[ToolGrant]) -> None:
    """Rule 8: a preview is another granted tool that only reads."""
    by_reference = {grant.reference: grant for grant in reversed(grants)}
    for index, grant in enumerate(grants):
        if grant.preview is None:
            continue
        at = TOOLS.item(index).member("preview").pointer
        of = f"spec.tools[].preview: '{grant.reference}'"
        if not grant.requires_approval:
            refuse_rule("preview", at, f"{of} has a preview but no requires_approval, so nothing would call it")
        if grant.preview == grant.reference:
            refuse_rule("preview", at, f"{of} names itself, so looking would already do it; name a read-only tool")
        target = by_reference.get(grant.preview)
        if target is None:
            refuse_rule("preview", at, f"{of} names '{grant.preview}', which is not granted; grant it as read-only")
        if target.mutates:
            refuse_rule("preview", at, f"{of} names '{grant.preview}', which has mutates: true; a preview only reads")


def check_descriptions(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 9: a model chooses by what it is told."""
    if kind_of(spec) not in ("tool-calling", "planned"):
        return
    for index, grant in enumerate(grants):
        if grant.description is None or is_blank(grant.description):
            refuse_rule(
                "description",
                TOOLS.item(index).member("description").pointer,
                f"spec.tools: '{grant.reference}' has no description, and a {kind_of(spec)} agent's model chooses "
                "tools by it; write one",
            )


def check_rate_limits(grants: Sequence[ToolGrant]) -> None:
    """Rule 10."""
    for index, grant in enumerate(grants):
        check_rate_limit(grant, TOOLS.item(index))


def check_mutating(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 11: where a model or a caller fills the arguments, a mutating grant says which of them bear authority."""
    kind = kind_of(spec)
    if kind not in ("tool-calling", "call"):
        return
    for index, grant in enumerate(grants):
        if not grant.mutates or grant.is_consultation:
            continue
        if any(field.bounds_authority for field in grant.protected_fields):
            continue
        lacking = (
            "no protected_fields, so every call of this"
            if not grant.protected_fields
            else "only ceilings among its protected_fields, which lift the gate and bound nobody for this"
        )
        refuse_rule(
            "mutating-needs-fields",
            TOOLS.item(index).member("protected_fields").pointer,
            f"spec.tools: '{grant.reference}' has mutates: true and {lacking} {kind} agent; add require_trusted, "
            "allowed_sources or one_of for the arguments that matter, or set mutates: false if it changes nothing",
        )


def check_call(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 12: a call agent is one grant and the input that fills it."""
    if kind_of(spec) != "call":
        return
    if len(grants) != 1:
        refuse_rule("call", "/spec/tools", f"spec.tools: a call agent runs exactly one tool and has {len(grants)}")
    if "input" not in spec:
        refuse_rule("call", "/spec/input", "spec.input: a call agent's input is its tool's arguments; give its schema")
    opening = closed_schemas.first_opening(spec["input"]["schema"], "spec.input.schema", "/spec/input/schema")
    if opening is not None:
        refuse_rule(
            "call",
            opening.pointer,
            f"{opening.dotted} {opening.why}, and a call agent's input is its tool's arguments; close it with "
            "additionalProperties: false",
        )
    for member, why in (
        ("models", "a call agent asks no model"),
        ("memory", "a call agent has no prompt to remember in"),
        ("output", "a call agent answers with its tool's result"),
    ):
        if member in spec:
            refuse_rule("call", f"/spec/{member}", f"spec.{member}: {why}; remove it")
    if spec.get("oversight", {}).get("approval") == "required":
        refuse_rule(
            "call",
            "/spec/oversight/approval",
            "spec.oversight.approval: a call agent's answer exists only after the call; use tools-only with "
            "requires_approval on the grant",
        )


def check_turns(spec: Spec) -> None:
    """Rule 13."""
    turns = spec.get("execution", {}).get("max_turns")
    if turns is None:
        return
    if kind_of(spec) in ("completion", "call"):
        refuse_rule(
            "turns",
            "/spec/execution/max_turns",
            f"spec.execution.max_turns: a {kind_of(spec)} agent takes one turn; remove it",
        )
    if turns == 0:
        refuse_rule(
            "turns", "/spec/execution/max_turns", "spec.execution.max_turns is 0, so nothing ever runs; raise it"
        )


def check_consultations(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 14: consulting another agent is delegation, and that agent's own manifest governs what it does."""
    own = spec["capabilities"]["provides"]
    for index, grant in enumerate(grants):
        if not grant.is_consultation:
            continue
        place = TOOLS.item(index)
        capability = grant.reference.removeprefix("tool://agent/")
        if not capability:
            refuse_rule(
                "agent-grants",
                place.member("ref").pointer,
                f"spec.tools[].ref: '{grant.reference}' names no capability; write tool://agent/CAPABILITY",
            )
        if capability in own:
            refuse_rule(
                "agent-grants",
                place.member("ref").pointer,
                f"spec.tools[].ref: '{grant.reference}' is this agent's own capability, a call to itself without end; "
                "grant another agent's",
            )
        for member, stands in (
            ("mutates", not grant.mutates),
            ("protected_fields", bool(grant.protected_fields)),
            ("rate_limit", grant.rate_limit is not None),
            ("max_sensitivity", grant.max_sensitivity is not None),
        ):
            if stands:
                refuse_rule(
                    "agent-grants",
                    place.member(member).pointer,
                    f"spec.tools[].{member}: '{grant.reference}' consults an agent, where nothing checks it; "
                    "state it in that agent's own manifest and remove it here",
                )
        if spec.get("topology", {}).get("role") != "orchestrator":
            refuse_rule(
                "agent-grants",
                place.member("ref").pointer,
                f"spec.tools: '{grant.reference}' consults an agent, which only an orchestrator may; set "
                "topology.role: orchestrator",
            )


def check_declared_schemas(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 19: what a model is held to has to be closed, in declarative agents."""
    if "execution" not in spec:
        return
    held: list[tuple[Any, str, str]] = []
    if "output" in spec:
        held.append((spec["output"]["schema"], "spec.output.schema", "/spec/output/schema"))
    for index, grant in enumerate(grants):
        if grant.arguments is not None:
            at = TOOLS.item(index).member("arguments").pointer
            held.append((grant.arguments, f"spec.tools['{grant.reference}'].arguments", at))
    for schema, dotted, at in held:
        opening = closed_schemas.first_opening(schema, dotted, at)
        if opening is not None:
            refuse_rule(
                "closed-schemas",
                opening.pointer,
                f"{opening.dotted} {opening.why}; declare every member and close it",
            )


def check_references(grants: Sequence[ToolGrant]) -> None:
    """Rule 22, grant by grant: the reference, that it stands once, then its protected fields."""
    seen: set[str] = set()
    for index, grant in enumerate(grants):
        place = TOOLS.item(index)
        check_grant_reference_once(grant, seen, place)
        check_grant(grant, place)
        seen.add(grant.reference)


def check_grant_reference_once(grant: ToolGrant, seen: set[str], place: Place) -> None:
    if grant.reference in seen:
        refuse_rule(
            "grant-references",
            place.member("ref").pointer,
            f"spec.tools: '{grant.reference}' is granted twice; two sets of terms for one tool leave it open which holds",
        )
