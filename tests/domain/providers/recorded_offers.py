"""The rows of the rendering vectors as declarations."""

from __future__ import annotations

from typing import Any

from salvor_admin.domain import declarations, strict_json, tool_ids
from salvor_admin.domain.declarations import CacheTtl, ToolDeclaration
from salvor_admin.domain.providers import PROVIDERS, Provider
from salvor_admin.domain.providers.provider import OutputMode, OutputSchema

TARGETS = {name.replace("-", "_"): provider for name, provider in PROVIDERS.items()}


def read(text: str) -> Any:
    return strict_json.read(text.encode("utf-8", "surrogatepass"))


def declared(row: dict[str, Any]) -> ToolDeclaration:
    parameters = read(row["parameters_text"])
    if "offering" in row:
        offer = declarations.offering(tool_ids.parse(row["offering"]), row["description"], parameters)
    else:
        offer = declarations.new(row["name"], row["description"], parameters)
    if "named" in row:
        offer = offer.named(row["named"])
    return offer.cache_breakpoint(CacheTtl(row["cache"])) if "cache" in row else offer


def output_of(row: dict[str, Any]) -> OutputSchema | None:
    if "output_schema_text" not in row:
        return None
    return OutputSchema(read(row["output_schema_text"]), OutputMode(row["output_schema_mode"]))


def target(name: str) -> Provider:
    return TARGETS[name]
