"""Effect keys: the hash by which a strict replay knows an effect again (contract 2.4)."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from salvor_admin.domain import canonical
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.grants import ProtectedField, sorted_fields
from salvor_admin.domain.strict_json import Json
from salvor_admin.domain.tool_ids import ToolId

PREFIX = b"agentplane.effect.key.v1\0"
DEFAULT_MAX_OUTPUT_TOKENS = 16_384

MODEL_COMPLETE = "model.complete"
TOOL_CALL = "tool.call"


class Phase(IntEnum):
    FORWARD = 0
    COMPENSATING = 1


@dataclass(frozen=True, slots=True)
class Position:
    """Where an effect stands in its run: attempts count from 1, a step's effects from 0."""

    step: int = 0
    ordinal: int = 0
    attempt: int = 1
    phase: Phase = Phase.FORWARD


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call a model made and what came back."""

    call_id: str
    name: str
    arguments: Json
    output: Json
    failed: bool = False

    def tree(self) -> dict[str, Json]:
        return {
            "call": {"id": self.call_id, "name": self.name, "arguments": self.arguments},
            "output": self.output,
            "failed": self.failed,
        }


def effect_key(kind: str, arguments: Json, position: Position) -> str:
    """The key, lower-case hex."""
    spelt_kind = kind.encode()
    head = struct.pack(">IBIIQ", position.step, position.phase, position.ordinal, position.attempt, len(spelt_kind))
    text = canonical.rfc8785(arguments).encode()
    return hashlib.sha256(PREFIX + head + spelt_kind + text).hexdigest()


def tool_call(tool: ToolId, arguments: Json, fields: Iterable[ProtectedField] = ()) -> dict[str, Json]:
    """What a tool call's key covers: not the description, the schema, the ceilings or the approval."""
    return {
        "server": tool.server,
        "tool": tool.tool,
        "arguments": arguments,
        "protected_fields": [field.tree() for field in sorted_fields(tuple(fields))],
    }


def offered(offers: Iterable[ToolDeclaration]) -> list[Json]:
    """Offers as a model call's key covers them, in offer order; `tool` is not in it."""
    trees: list[Json] = []
    for offer in offers:
        tree: dict[str, Json] = {
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.parameters,
        }
        if offer.cache is not None:
            tree["cache"] = offer.cache.value
        trees.append(tree)
    return trees


def model_call(
    *,
    provider: str,
    model: str,
    prompt: Json,
    offers: Iterable[ToolDeclaration] = (),
    provider_profile: Json = None,
    schema: Json = None,
    max_output_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS,
    reasoning_effort: str | None = None,
    exchanges: Iterable[Exchange] = (),
    continuation: Mapping[str, Json] | None = None,
    told: Sequence[str] = (),
    reasoning_summary: bool = False,
    compaction: Json = None,
) -> dict[str, Json]:
    """What a model call's key covers; options that were not used are null or empty, the last three left out."""
    tree: dict[str, Any] = {
        "provider": provider,
        "model": model,
        "provider_profile": provider_profile,
        "prompt": prompt,
        "schema": schema,
        "max_output_tokens": max_output_tokens,
        "reasoning_effort": reasoning_effort,
        "tools": offered(offers),
        "exchanges": [exchange.tree() for exchange in exchanges],
        "continuation": None if continuation is None else dict(continuation),
    }
    if told:
        tree["told"] = list(told)
    if reasoning_summary:
        tree["reasoning_summary"] = True
    if compaction is not None:
        tree["compaction"] = compaction
    return tree
