"""What oversight and content rules of a manifest have to satisfy (contract 5.4, rules 6 and 21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import re2

from salvor_admin.domain.grant_rules import Spec
from salvor_admin.domain.grants import ToolGrant, is_blank, refuse_rule
from salvor_admin.domain.strict_json import Json

_LARGEST_PATTERN = 1 << 20


def _refuse(dotted: str, why: str) -> NoReturn:
    refuse_rule("oversight", "/" + dotted.replace("[]", "").replace(".", "/"), f"{dotted} {why}")


def check_oversight(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 6: oversight says whom, until when and what then, and something in the agent waits for it."""
    oversight = spec.get("oversight")
    if oversight is None:
        return
    if "execution" not in spec:
        _refuse("spec.oversight", "is applied in declarative agents only; remove it, or declare execution")
    asks = any(grant.requires_approval for grant in grants)
    gates = oversight["approval"] != "none" or asks
    _check_deadline(oversight, gates=gates)
    if not gates:
        for member, stands in (
            ("approvers", "approvers" in oversight),
            ("on_expiry", oversight["on_expiry"] == "proceed"),
        ):
            if stands:
                _refuse(f"spec.oversight.{member}", "says how a wait ends, but nothing here waits; remove it")
    _check_approval(oversight, grants, asks=asks)
    _check_triage(spec, oversight.get("triage", ()))
    _check_expiry(oversight, gates=gates)


def _check_deadline(oversight: Mapping[str, Any], *, gates: bool) -> None:
    deadline = oversight.get("deadline")
    if gates:
        if deadline is None:
            _refuse("spec.oversight.deadline", "is missing, and something here waits for a person; say until when")
        _check_term("spec.oversight.deadline", deadline)
    elif deadline is not None:
        _refuse("spec.oversight.deadline", "bounds a wait, but nothing here waits; remove it")


def _check_term(dotted: str, deadline: Mapping[str, Any]) -> None:
    for member in ("name", "kind"):
        if is_blank(deadline[member]):
            _refuse(f"{dotted}.{member}", "is blank; write something in it")
    params = deadline["params"]
    if isinstance(params, dict) and "n" in params:
        count = params["n"]
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < count < 2**63:
            _refuse(f"{dotted}.params.n", "has to be a whole number above 0")


def _check_approval(oversight: Mapping[str, Any], grants: Sequence[ToolGrant], *, asks: bool) -> None:
    approval = oversight["approval"]
    if approval == "tools-only":
        if not asks:
            _refuse(
                "spec.oversight.approval",
                "is tools-only, but no grant has requires_approval; set it, or use required",
            )
        for grant in grants:
            if grant.mutates and not grant.requires_approval:
                _refuse(
                    "spec.oversight.approval",
                    f"is tools-only, but the mutating grant '{grant.reference}' has no requires_approval; set it there",
                )
    if approval == "none" and not asks and not oversight.get("triage"):
        _refuse(
            "spec.oversight.approval",
            "is none, no grant asks and there is no triage, so oversight does nothing; remove it, or add one",
        )


def _check_expiry(oversight: Mapping[str, Any], *, gates: bool) -> None:
    on_expiry = oversight["on_expiry"]
    if on_expiry == "proceed" and not oversight["allow_unattended"]:
        _refuse("spec.oversight.on_expiry", "is proceed, which needs allow_unattended: true beside it")
    if on_expiry != "escalate":
        if "escalate_to" in oversight:
            _refuse(
                "spec.oversight.escalate_to", f"names people, but on_expiry is {on_expiry}; use escalate, or remove it"
            )
        return
    if "escalate_to" not in oversight:
        _refuse("spec.oversight.on_expiry", "is escalate, but escalate_to names nobody; name the roles to add")
    if gates and "approvers" not in oversight:
        _refuse(
            "spec.oversight.approvers", "are missing: anyone may decide already, so escalating adds nobody; name them"
        )
    for rule in oversight.get("triage", ()):
        if not rule["audience"]:
            _refuse("spec.oversight.triage", f"'{rule['name']}' has no audience, so escalating adds nobody; name it")


# --- triage ----------------------------------------------------------------------------------------------------------


def _check_triage(spec: Spec, rules: Sequence[Mapping[str, Any]]) -> None:
    if not rules:
        return
    if "output" not in spec:
        _refuse("spec.oversight.triage", "reads the answer, but spec.output.schema does not say its shape; add it")
    names: set[str] = set()
    for rule in rules:
        for member in ("name", "summary"):
            if is_blank(rule[member]):
                _refuse(f"spec.oversight.triage[].{member}", "is blank; write something in it")
        _check_term("spec.oversight.triage[].deadline", rule["deadline"])
        if rule["name"] in names:
            _refuse("spec.oversight.triage", f"has two rules called '{rule['name']}'; rename one")
        names.add(rule["name"])
        if not rule["when"]:
            _refuse("spec.oversight.triage", f"'{rule['name']}' has no condition, so every answer matches; add one")
        for condition in rule["when"]:
            _check_condition(rule["name"], condition, spec["output"]["schema"])


def _check_condition(name: str, condition: Mapping[str, Any], schema: Json) -> None:
    path = condition["path"]
    if not path.startswith("/"):
        _refuse("spec.oversight.triage", f"'{name}': the path '{path}' does not start with '/'")
    if condition.get("in") == []:
        _refuse("spec.oversight.triage", f"'{name}': '{path}' has an empty `in`, which never matches")
    missing = _provably_absent(path, schema)
    if missing is not None:
        _refuse("spec.oversight.triage", f"'{name}': '{path}' can never match, since spec.output.schema {missing}")


def _provably_absent(path: str, schema: Json) -> str | None:
    """Why a closed schema never has the path; None where it may, or where that cannot be told."""
    node = schema
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        kind = node.get("type") if isinstance(node, dict) else None
        if not isinstance(kind, str):
            return None
        if kind == "object":
            properties = node.get("properties")
            if isinstance(properties, dict) and name in properties:
                node = properties[name]
            else:
                closed = node.get("additionalProperties") is False
                return f"is closed and has no '{name}' there" if closed else None
        elif kind == "array":
            if "items" not in node or not (name.isascii() and (name.isdigit() or name == "")):
                return None
            node = node["items"]
        else:
            return f"has a {kind} there, which has no '{name}'"
    return None


# --- content rules (rule 21) -----------------------------------------------------------------------------------------

_SINKS = ("model.complete", "tool.call", "media.fetch")


def check_content(spec: Spec) -> None:
    """Rule 21."""
    content = spec["security"].get("content")
    if content is None:
        return
    seen: set[str] = set()
    for rule in content["rules"]:
        _check_content_head("rules", rule["id"], rule["at"], seen)
        _check_matcher(rule["id"], rule["match"])
        if "media.fetch" in rule["at"].get("sources", ()):
            _refuse_content("rules", rule["id"], "media.fetch is no source")
        if isinstance(rule["then"], dict) and "redact" in rule["then"] and (rule["at"].keys() - {"sinks"}):
            _refuse_content("rules", rule["id"], "redact works at sinks only")
        for path in rule.get("fields", ()):
            if path and not path.startswith("/"):
                _refuse_content("rules", rule["id"], f"'{path}' in fields is no JSON pointer")
    for check in content.get("checks", ()):
        _check_content_head("checks", check["id"], check["at"], seen)
        if is_blank(check["checker"]):
            _refuse_content("checks", check["id"], "checker is blank")
        if check["at"].get("admission"):
            _refuse_content("checks", check["id"], "a check cannot run at admission, before there is a run")
        if set(check["at"].get("sources", ())) - {"model.complete", "tool.call"}:
            _refuse_content("checks", check["id"], "a check judges what a model or a tool returns, nothing else")
        if not check["on"]:
            _refuse_content("checks", check["id"], "`on` names no category, so the check decides nothing")


def _check_content_head(noun: str, name: str, at: Mapping[str, Any], seen: set[str]) -> None:
    if is_blank(name):
        _refuse_content(noun, name, "the id is blank")
    if name.strip() in seen:
        _refuse_content(noun, name, "the id stands twice")
    seen.add(name.strip())
    if not at:
        _refuse_content(noun, name, "`at` names no place, so it never applies")
    for sink in at.get("sinks", ()):
        if sink not in _SINKS:
            _refuse_content(noun, name, f"{sink} is no sink")


def _check_matcher(name: str, match: Mapping[str, Any]) -> None:
    ways = [way for way in ("pattern", "contains", "invisible") if way in match]
    if len(ways) != 1:
        _refuse_content("rules", name, "`match` takes exactly one of pattern, contains and invisible")
    if "luhn" in match and "pattern" not in match:
        _refuse_content("rules", name, "luhn goes with a pattern")
    if "case" in match and "contains" not in match:
        _refuse_content("rules", name, "case goes with contains")
    if "" in match.get("contains", ()):
        _refuse_content("rules", name, "contains holds an empty text, which matches everything")
    if "pattern" in match:
        options = re2.Options()
        options.max_mem = _LARGEST_PATTERN
        options.log_errors = False
        try:
            re2.compile(match["pattern"], options=options)
        except re2.error:
            _refuse_content("rules", name, "the pattern does not compile, or compiles to too much")


def _refuse_content(noun: str, name: str, why: str) -> NoReturn:
    refuse_rule("content", f"/spec/security/content/{noun}", f"spec.security.content.{noun} '{name}': {why}")
