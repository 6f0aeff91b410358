"""Agent manifests: reading, judging, writing, and the digest that names one (contract 5 and 9)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from salvor_admin.domain import (
    agent_rules,
    agent_shapes,
    agents,
    canonical,
    grant_rules,
    grants,
    oversight_rules,
    yaml_values,
)
from salvor_admin.domain.agents import Agent
from salvor_admin.domain.grants import ToolGrant
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.shapes import Place
from salvor_admin.domain.strict_json import Json

MANIFEST = agent_shapes.document_shape(grants.GRANT)


@dataclass(frozen=True)
class Manifest:
    """One agent with its grants, as the canonical tree of contract 5.6; made by `read_*`, `from_value` or `assemble`."""

    tree: Mapping[str, Any]
    odd_scalars: tuple[str, ...] = ()

    @cached_property
    def grants(self) -> tuple[ToolGrant, ...]:
        return tuple(map(grants.from_tree, self.tree["spec"]["tools"]))

    @cached_property
    def agent(self) -> Agent:
        spec = {**self.tree["spec"], "tools": [grant["ref"] for grant in self.tree["spec"]["tools"]]}
        return Agent({**self.tree, "spec": spec})

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def version(self) -> str:
        return self.agent.version

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical.rfc8785(self.tree)

    @property
    def digest(self) -> str:
        """What `agentplane digest` prints."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def grant(self, reference: str) -> ToolGrant | None:
        return next((grant for grant in self.grants if grant.reference == reference), None)


# --- reading ---------------------------------------------------------------------------------------------------------


def read_file(raw: bytes) -> list[Manifest]:
    """Every manifest of a file as the program reads it; the first fault is refused, in the program's order (5.4, 5.7)."""
    manifests: list[Manifest] = []
    for ordinal, document in enumerate(yaml_values.read_documents(raw), start=1):
        if document.value is None:
            continue
        try:
            manifest = from_value(document.value, odd_scalars=document.odd_scalars)
        except Refusal as refusal:
            raise _in_document(refusal, ordinal) from None
        if any(earlier.name == manifest.name for earlier in manifests):
            raise Refusal(
                "manifest_one_name_per_file",
                f"document {ordinal} is called '{manifest.name[:200]}', and so is an earlier one; rename it or remove it.",
                place="/metadata/name",
                details={"document": ordinal},
            )
        manifests.append(manifest)
    if not manifests:
        raise Refusal("manifest_yaml", "The file holds no manifest; write one document with apiVersion and kind.")
    return manifests


def _in_document(refusal: Refusal, ordinal: int) -> Refusal:
    named = refusal.message if ordinal == 1 else f"document {ordinal}: {refusal.message}"
    return Refusal(refusal.code, named, place=refusal.place, details={**refusal.details, "document": ordinal})


def from_value(value: Json, *, odd_scalars: Iterable[str] = ()) -> Manifest:
    """The manifest a value describes, judged by every rule."""
    if not isinstance(value, (dict, list)):
        raise Refusal("manifest_yaml", "The document is a single value; a manifest is a mapping.", place="")
    if isinstance(value, list) and len(value) < len(MANIFEST.members):
        raise Refusal("manifest_yaml", "The document is a list; a manifest is a mapping.", place="")
    tree = MANIFEST(value, Place())
    agents.normalise(tree)
    manifest = _normal(tree, odd_scalars)
    check(manifest)
    return manifest


def _normal(tree: dict[str, Any], odd_scalars: Iterable[str]) -> Manifest:
    """With fields and sources in their canonical order."""
    tree["spec"]["tools"] = [grants.from_tree(grant).tree() for grant in tree["spec"]["tools"]]
    return Manifest(tree, tuple(odd_scalars))


def assemble(agent: Agent, granted: Sequence[ToolGrant]) -> Manifest:
    """The agent's manifest with these grants, in its offer order; what it does not name comes last, by reference."""
    order = {reference: index for index, reference in enumerate(agent.offer_order)}
    ordered = sorted(granted, key=lambda grant: (order.get(grant.reference, len(order)), grant.reference.encode()))
    spec = {**agent.spec, "tools": [grant.tree() for grant in ordered]}
    manifest = Manifest({**agent.tree, "spec": spec})
    check(manifest)
    return manifest


# --- judging (contract 5.4) ------------------------------------------------------------------------------------------


def check(manifest: Manifest) -> None:
    """Refuses the first fault, in the contract's order."""
    tree, spec, granted = manifest.tree, manifest.tree["spec"], manifest.grants
    rules: tuple[Callable[[], None], ...] = (
        lambda: agent_rules.check_document(tree),
        lambda: agent_rules.check_name_and_version(tree["metadata"]),
        lambda: agent_rules.check_annotations(tree["metadata"]),
        lambda: agent_rules.check_role(spec),
        lambda: agent_rules.check_one_capability(spec),
        lambda: agent_rules.check_prompts(spec, granted),
        lambda: oversight_rules.check_oversight(spec, granted),
        lambda: grant_rules.check_approval(spec, granted),
        lambda: grant_rules.check_previews(granted),
        lambda: grant_rules.check_descriptions(spec, granted),
        lambda: grant_rules.check_rate_limits(granted),
        lambda: grant_rules.check_mutating(spec, granted),
        lambda: grant_rules.check_call(spec, granted),
        lambda: grant_rules.check_turns(spec),
        lambda: grant_rules.check_consultations(spec, granted),
        lambda: agent_rules.check_context(spec),
        lambda: agent_rules.check_topology(spec),
        lambda: agent_rules.check_models(spec),
        lambda: agent_rules.check_schemas_say_something(spec),
        lambda: grant_rules.check_declared_schemas(spec, granted),
        lambda: agent_rules.check_memory(spec),
        lambda: oversight_rules.check_content(spec),
        lambda: grant_rules.check_references(granted),
        lambda: agent_rules.check_budgets(spec),
    )
    for rule in rules:
        rule()


# --- writing (contract 9) --------------------------------------------------------------------------------------------


def write_file(manifests: Sequence[Manifest]) -> str:
    """The text of a manifest file: JSON in ASCII, which every YAML reader takes for what it says (X4)."""
    documents = [json.dumps(manifest.tree, ensure_ascii=True, indent=2, allow_nan=False) for manifest in manifests]
    return "\n---\n".join(documents) + "\n"
