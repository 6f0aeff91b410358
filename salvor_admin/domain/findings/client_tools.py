"""Findings about client tools (design section 11, dead ends)."""

from __future__ import annotations

from collections.abc import Iterator

from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.findings.finding import Finding, Severity


def find(tool: ClientTool) -> list[Finding]:
    """Everything the rules see in one client tool, most serious first."""
    return list(_never_completable(tool))


def _never_completable(tool: ClientTool) -> Iterator[Finding]:
    if tool.trust_completion and tool.output_schema is ABSENT:
        yield Finding(
            "never_completable",
            Severity.BLOCK,
            "/output_schema",
            "The client's word is trusted, but without an output schema no output it reports can be recorded.",
            "Declare an output_schema, or set trust_completion to false so that people settle these calls.",
        )
    if not tool.trust_completion and tool.effect is not Effect.WRITE:
        yield Finding(
            "never_completable",
            Severity.BLOCK,
            "/trust_completion",
            f"A call of effect {tool.effect.value} that is not trusted can be closed by nobody over the wire: the client is "
            "refused, and resolve is for writes alone.",
            "Trust its completion with an output_schema, or declare its effect as write.",
        )
