"""How each model provider is told about tools, and how its answers are read (agentplane contract 3 and 4)."""

from __future__ import annotations

from salvor_admin.domain.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from salvor_admin.domain.providers.provider import Provider
from salvor_admin.domain.refusals import Refusal

PROVIDERS: dict[str, Provider] = {
    each.PROVIDER.name: each.PROVIDER for each in (anthropic, openai_responses, openai_chat, bedrock, gemini)
}


def provider_named(name: str) -> Provider:
    """The provider of that name, or a refusal that lists the names there are."""
    if name not in PROVIDERS:
        raise Refusal(
            "unknown_provider",
            f"No provider is called {name[:80]!a}; the names are {', '.join(PROVIDERS)}.",
            place="provider",
        )
    return PROVIDERS[name]
