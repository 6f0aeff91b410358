"""Agents: the frame that grants need, which is reviewed beside them (contract 5.3 and 5.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from salvor_admin.domain import agent_shapes, shapes
from salvor_admin.domain.labels import Sensitivity
from salvor_admin.domain.shapes import Place
from salvor_admin.domain.strict_json import Json

API_VERSION = "agentplane.hupe1980.github.io/v1alpha1"
KIND = "Agent"

AGENT = agent_shapes.document_shape(shapes.text)


@dataclass(frozen=True, slots=True)
class Agent:
    """A manifest's tree in which each tool is only its reference: what is reviewed beside the grants.

    The order of those references is the order in which the tools are offered.
    """

    tree: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.tree["metadata"]["name"])

    @property
    def version(self) -> str:
        return str(self.tree["metadata"]["version"])

    @property
    def spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self.tree["spec"]
        return spec

    @property
    def offer_order(self) -> tuple[str, ...]:
        return tuple(self.spec["tools"])

    @property
    def execution_kind(self) -> str | None:
        """`completion`, `tool-calling`, `planned` or `call`; None for an agent written in code."""
        execution = self.spec.get("execution")
        return None if execution is None else str(execution["kind"])

    @property
    def egress_ceiling(self) -> Sensitivity | None:
        return self._ceiling("max_sensitivity_egress")

    @property
    def journal_ceiling(self) -> Sensitivity | None:
        return self._ceiling("max_sensitivity_journaled")

    def _ceiling(self, name: str) -> Sensitivity | None:
        written = self.spec["security"].get(name)
        return None if written is None else Sensitivity(written)

    @property
    def model_source(self) -> str | None:
        """The source name that the privileged model's words carry: `model:PROVIDER/MODEL`."""
        model = self.spec.get("models", {}).get("privileged")
        return None if model is None else f"model:{model['provider']}/{model['model']}"


def read_agent(value: Json) -> Agent:
    """An agent's own document, normalised as a manifest is (contract 5.6)."""
    tree = AGENT(value, Place())
    normalise(tree)
    return Agent(tree)


def normalise(tree: dict[str, Any]) -> None:
    """Resolves the two short spellings in place: `model`, and the capability a declarative agent does not name."""
    spec = tree["spec"]
    if "model" in spec and "models" not in spec:
        spec["models"] = {"privileged": spec.pop("model")}
    if "execution" in spec and not spec["capabilities"]["provides"]:
        spec["capabilities"] = {"provides": [tree["metadata"]["name"]]}
