"""What the frame of a manifest has to satisfy (contract 5.4, rules 1 to 6, 15 to 18, 20, 21 and 23)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from salvor_admin.domain import tool_ids
from salvor_admin.domain.agents import API_VERSION, KIND
from salvor_admin.domain.grant_rules import Spec, kind_of
from salvor_admin.domain.grants import ToolGrant, is_blank, refuse_rule
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, pointer

LONGEST_ANNOTATIONS = 256 * 1024
RESERVED_ANNOTATIONS = "agentplane.hupe1980.github.io/"

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ANNOTATION_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def _at(dotted: str) -> str:
    return "/" + dotted.replace(".", "/")


def _refuse(rule: str, dotted: str, why: str, *, at: str | None = None) -> NoReturn:
    refuse_rule(rule, _at(dotted) if at is None else at, f"{dotted} {why}" if dotted else why)


def check_document(tree: Mapping[str, Any]) -> None:
    """Rule 0."""
    if tree["apiVersion"] != API_VERSION:
        _refuse("document", "apiVersion", f"is '{tree['apiVersion']}', but only '{API_VERSION}' is read")
    if tree["kind"] != KIND:
        _refuse("document", "kind", f"is '{tree['kind']}', but only '{KIND}' is read")


def check_name_and_version(metadata: Mapping[str, Any]) -> None:
    """Rule 1."""
    for member in ("name", "version"):
        if is_blank(metadata[member]):
            _refuse("name-version", f"metadata.{member}", "is blank; write something in it")


def check_annotations(metadata: Mapping[str, Any]) -> None:
    """Rule 2: keys as Kubernetes has them, the prefix being needed."""
    total = 0
    for key, value in sorted(metadata.get("annotations", {}).items()):
        prefix, slash, name = key.partition("/")
        why = None
        if not slash or "." not in prefix or len(prefix) > 253 or not all(map(_LABEL.fullmatch, prefix.split("."))):
            why = "needs a DNS name with a dot before one slash, as in example.com/owner"
        elif not _ANNOTATION_NAME.fullmatch(name):
            why = "needs a name of 1 to 63 letters, digits, '-', '_' and '.' after its one slash, a letter or digit at both ends"
        elif key.startswith(RESERVED_ANNOTATIONS):
            why = f"begins with {RESERVED_ANNOTATIONS}, which the format keeps for itself; use a prefix of your own"
        elif is_blank(value):
            why = "has no value; write one, or remove the key"
        if why is not None:
            _refuse("annotations", "metadata.annotations", f"'{key}' {why}", at=pointer("/metadata/annotations", key))
        total += len(key.encode()) + len(value.encode())
    if total > LONGEST_ANNOTATIONS:
        _refuse("annotations", "metadata.annotations", f"hold {total} bytes and may hold {LONGEST_ANNOTATIONS}")


def check_role(spec: Spec) -> None:
    """Rule 3."""
    if "identity" in spec and is_blank(spec["identity"]["role"]):
        _refuse("role", "spec.identity.role", "is blank; say what the agent is for, or remove identity")


def check_one_capability(spec: Spec) -> None:
    """Rule 4."""
    provided = spec["capabilities"]["provides"]
    if "execution" in spec and len(provided) > 1:
        _refuse(
            "one-capability",
            "spec.capabilities.provides",
            f"names {len(provided)} capabilities, but a declarative agent runs the same whichever is asked; make it one",
        )


# --- prompts (rule 5) ------------------------------------------------------------------------------------------------

# Possessive, so that a prompt full of half references costs no more than its length.
_REFERENCE = re.compile(r"tool://[A-Za-z0-9_.]++/[A-Za-z0-9_.]++(?![A-Za-z0-9:/\-_.+])")
_WORD = re.compile(r"[A-Za-z0-9_.\-]+")
_LOWER_WORD = re.compile(r"[a-z0-9_.\-]+")


def references_in(prompt: str) -> list[str]:
    """Every tool reference a text spells out, a full stop behind it included."""
    return sorted({found for found in _REFERENCE.findall(prompt) if tool_ids.is_reference(found)})


def wire_names_in(prompt: str) -> list[str]:
    """Every lower-case word that has the shape of a wire name."""
    found = {
        word
        for word in _WORD.findall(prompt)
        if word.count("__") == 1
        and not word.startswith("__")
        and not word.endswith("__")
        and _LOWER_WORD.fullmatch(word)
    }
    return sorted(found)


def prompts_of(spec: Spec) -> list[tuple[str, str]]:
    """The texts a model is instructed with, by the place they stand at."""
    if "identity" not in spec:
        return []
    prompts = [
        ("spec.identity.role", spec["identity"]["role"]),
        ("spec.identity.constraints", spec["identity"]["constraints"]),
    ]
    formation = spec.get("memory", {}).get("formation")
    if formation is not None:
        prompts.append(("spec.memory.formation.instruction", formation["instruction"]))
    return prompts


def check_prompts(spec: Spec, grants: Sequence[ToolGrant]) -> None:
    """Rule 5: a prompt names only granted tools, by reference or by wire name."""
    granted = {grant.reference for grant in grants}
    offered = {tool_ids.parse(name).wire_name for name in granted if tool_ids.is_reference(name)}
    for dotted, prompt in prompts_of(spec):
        for reference in references_in(prompt):
            if reference not in granted:
                _refuse(
                    "prompt-references",
                    dotted,
                    f"names '{reference}', which is not granted; grant it, or do not name it (a full stop right behind "
                    "a reference belongs to it)",
                )
        for name in wire_names_in(prompt):
            if name not in offered:
                _refuse(
                    "prompt-references",
                    dotted,
                    f"holds '{name}', which has the shape of a tool's wire name, and no grant has it; grant the tool, "
                    "or write the word otherwise",
                )


# --- the arrangement (rules 15 and 16) -------------------------------------------------------------------------------


def check_context(spec: Spec) -> None:
    """Rule 15."""
    context = spec.get("context", {})
    for noun, member in (("prompts", "name"), ("resources", "uri")):
        seen: set[tuple[str, str]] = set()
        for index, grant in enumerate(context.get(noun, ())):
            at = f"/spec/context/{noun}/{index}"
            if is_blank(grant["server"]) or is_blank(grant[member]):
                _refuse("context", f"spec.context.{noun}[].server/{member}", "is blank; name both", at=at)
            if (grant["server"], grant[member]) in seen:
                _refuse(
                    "context",
                    f"spec.context.{noun}",
                    f"grants '{grant[member]}' of '{grant['server']}' twice; keep one",
                    at=at,
                )
            seen.add((grant["server"], grant[member]))


def check_topology(spec: Spec) -> None:
    """Rule 16."""
    topology = spec.get("topology")
    if topology is None:
        return
    if topology["role"] == "specialist" and spec["security"].get("max_delegation_depth", 0) > 0:
        _refuse(
            "topology",
            "spec.topology",
            "makes the agent a specialist, but security.max_delegation_depth lets it delegate; choose one",
        )
    if topology["mode"] == "single" and topology["role"] != "specialist":
        _refuse(
            "topology", "spec.topology", "has mode single, where there is nobody to orchestrate; change mode or role"
        )
    if topology["mode"] == "collaborative" and "reason" not in topology:
        _refuse("topology", "spec.topology", "has mode collaborative without a reason; give one")
    if topology["mode"] == "single" and "reason" in topology:
        _refuse("topology", "spec.topology", "has a reason to collaborate, but mode single; remove it")


# --- models (rule 17) ------------------------------------------------------------------------------------------------


def check_models(spec: Spec) -> None:
    """Rule 17."""
    if "model" in spec:
        _refuse("models", "spec.model", "stands beside spec.models; it is short for models.privileged, so keep one")
    models = spec.get("models")
    if kind_of(spec) not in (None, "call") and (models is None or "privileged" not in models):
        _refuse(
            "models", "spec.execution", "makes the agent declarative, but spec.models.privileged names no model; add it"
        )
    if models is None:
        return
    for role, model in models.items():
        _check_model(f"spec.models.{role}", model)
    _check_quarantined(spec, models)


def _check_model(dotted: str, model: Mapping[str, Any]) -> None:
    for member in ("provider", "model"):
        if is_blank(model[member]):
            _refuse("models", f"{dotted}.{member}", "is blank; name it as the provider does")
    for member in ("max_tokens", "max_input_tokens"):
        if model.get(member) == 0:
            _refuse("models", f"{dotted}.{member}", "is 0, which fails every call; raise it, or remove it")
    trigger = model.get("compaction", {}).get("trigger_tokens")
    if trigger == 0:
        _refuse("models", f"{dotted}.compaction.trigger_tokens", "is 0; raise it, or remove compaction")
    if trigger is not None and trigger >= model.get("max_input_tokens", 2**32):
        _refuse(
            "models",
            f"{dotted}.compaction.trigger_tokens",
            "is not below max_input_tokens, so a call fails before it compacts; lower it",
        )


def _check_quarantined(spec: Spec, models: Mapping[str, Any]) -> None:
    quarantined = models.get("quarantined")
    if quarantined is None:
        return
    privileged = models.get("privileged")
    if privileged is not None and all(privileged[member] == quarantined[member] for member in ("provider", "model")):
        _refuse(
            "models", "spec.models.quarantined", "is the same model as privileged, so nothing is kept apart; change one"
        )
    selects = kind_of(spec) in (None, "planned") or "formation" in spec.get("memory", {})
    if not selects:
        _refuse(
            "models",
            "spec.models.quarantined",
            "is never used: only planned agents and memory formation choose it; remove it",
        )


# --- schemas, memory, content, budgets -------------------------------------------------------------------------------


def check_schemas_say_something(spec: Spec) -> None:
    """Rule 18."""
    for member in ("input", "output"):
        if member not in spec:
            continue
        schema = spec[member]["schema"]
        dotted = f"spec.{member}.schema"
        if not isinstance(schema, dict):
            _refuse("schema-not-empty", dotted, f"is {_json_kind(schema)}, but a schema is an object")
        if not schema:
            _refuse("schema-not-empty", dotted, f"is empty, which allows anything; say more, or remove spec.{member}")


def _json_kind(value: Json) -> str:
    if value is None:
        return "null"
    for kind, word in ((bool, "a boolean"), ((int, float), "a number"), (str, "a string"), (list, "an array")):
        if isinstance(value, kind):
            return word
    return "an object"


def check_memory(spec: Spec) -> None:
    """Rule 20."""
    memory = spec.get("memory")
    if memory is None:
        return
    if not memory:
        _refuse("memory", "spec.memory", "has neither recall nor formation; add one, or remove it")
    if "execution" not in spec:
        _refuse("memory", "spec.memory", "is the runtime's work in declarative agents only; remove it")
    if "recall" in memory:
        _check_recall(spec, memory["recall"])
    if "formation" in memory:
        _check_formation(spec, memory["formation"])


def _check_recall(spec: Spec, recall: Mapping[str, Any]) -> None:
    if kind_of(spec) == "planned":
        _refuse("memory", "spec.memory.recall", "would feed untrusted text into a plan; use tool-calling, or remove it")
    _check_not_blank("spec.memory.recall", recall, ("subject", "purpose"))
    if not 1 <= recall["limit"] <= 50:
        _refuse("memory", "spec.memory.recall.limit", "has to be from 1 to 50")


def _check_formation(spec: Spec, formation: Mapping[str, Any]) -> None:
    if "privileged" not in spec.get("models", {}):
        _refuse("memory", "spec.memory.formation", "needs spec.models.privileged to extract with; name it")
    _check_not_blank("spec.memory.formation", formation, ("purpose", "instruction", "subject"))
    if not 1 <= formation["max_items"] <= 10:
        _refuse("memory", "spec.memory.formation.max_items", "has to be from 1 to 10")
    for member in ("retention_seconds", "access_retention_seconds"):
        if formation.get(member) == 0:
            _refuse("memory", f"spec.memory.formation.{member}", "is 0; raise it, or remove it")


def _check_not_blank(dotted: str, tree: Mapping[str, Any], members: Sequence[str]) -> None:
    for member in members:
        if is_blank(tree.get(member, "-")):
            _refuse("memory", f"{dotted}.{member}", "is blank; write something in it, or remove it")


_NEVER_ZERO = ("max_steps", "max_effects", "max_tokens", "max_minor_units", "max_wallclock_secs", "max_parallel_steps")


def check_budgets(spec: Spec) -> None:
    """Rule 23."""
    budgets = spec.get("budgets")
    if budgets is None:
        raise Refusal(
            "manifest_budgets",
            "spec.budgets is missing; state the ceilings, or write `budgets: {}` to mean that there are none.",
            place="/spec/budgets",
        )
    for member in _NEVER_ZERO:
        if budgets.get(member) == 0:
            _refuse("budgets", f"spec.budgets.{member}", "is 0, so nothing ever runs; raise it, or remove it")
    if "max_minor_units" in budgets:
        for role, model in spec.get("models", {}).items():
            if "pricing" not in model:
                _refuse(
                    "budgets",
                    f"spec.models.{role}.pricing",
                    "is missing, so spec.budgets.max_minor_units never counts this model; add it",
                )
