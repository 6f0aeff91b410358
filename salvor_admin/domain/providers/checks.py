"""The provider check: what a target would reject, found before anything is sent (limits: the dated table)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.findings.finding import MOST_OF_A_KIND, Finding, Severity
from salvor_admin.domain.providers import naming_rules, schema_rules
from salvor_admin.domain.providers.limits import Limit, limits_of
from salvor_admin.domain.providers.provider import OutputSchema, Provider, RenderedOffer
from salvor_admin.domain.providers.sightings import Offered, Sighting
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

RULES = {**naming_rules.RULES, **schema_rules.RULES}
OFFER_RULES = naming_rules.OFFER_RULES
_ORDER = {Severity.BLOCK: 0, Severity.WARN: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class ProviderFinding:
    """A finding about one target, with where and when the limit behind it was seen."""

    target: str
    finding: Finding
    source: str
    seen: str

    def as_json(self) -> dict[str, Json]:
        found = self.finding
        return {
            "target": self.target,
            "code": found.code,
            "severity": str(found.severity),
            "place": found.place,
            "reason": found.reason,
            "remedy": found.remedy,
            "source": self.source,
            "seen": self.seen,
        }


def check_offer(provider: Provider, offers: Sequence[ToolDeclaration]) -> list[ProviderFinding]:
    """Everything one target has against a whole offer, most serious first; places are pointers into the list."""
    found: list[ProviderFinding] = []
    for limit in limits_of(provider.name):
        rule = OFFER_RULES.get(limit.code)
        if rule is not None:
            found += _findings(provider, limit, rule(offers, limit), "")
    for index, (offer, verdict) in enumerate(zip(offers, provider.strict_verdicts(offers), strict=True)):
        found += _about(provider, Offered(offer, verdict), f"/{index}")
    return sorted(found, key=lambda each: _ORDER[each.finding.severity])


def check_declaration(providers: Sequence[Provider], declaration: ToolDeclaration) -> list[ProviderFinding]:
    """What each target has against one declaration alone, most serious first; places are pointers into it."""
    found: list[ProviderFinding] = []
    for provider in providers:
        found += _about(provider, Offered(declaration, provider.strict_verdicts([declaration])[0]), "")
    return sorted(found, key=lambda each: _ORDER[each.finding.severity])


def render_checked(
    provider: Provider, offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None
) -> RenderedOffer:
    """The rendered offer; refused with every reason where the target would reject it."""
    blocking = [each for each in check_offer(provider, offers) if each.finding.severity is Severity.BLOCK]
    if blocking:
        first = blocking[0].finding
        others = f" ({len(blocking) - 1} more such findings)" if len(blocking) > 1 else ""
        raise Refusal(
            "offer_refused",
            f"{provider.title} would reject this offer: {first.place or 'the list'}: {first.reason} {first.remedy}{others}",
            place=first.place,
            details={"target": provider.name, "findings": [each.as_json() for each in blocking]},
        )
    return provider.render_offer(offers, output=output)


def _about(provider: Provider, offered: Offered, prefix: str) -> Iterator[ProviderFinding]:
    """The findings about one declaration; a schema beyond the size cap is not looked into any further."""
    too_large = False
    for limit in limits_of(provider.name):
        rule = RULES.get(limit.code)
        if rule is None or (too_large and limit.code in schema_rules.RULES):
            continue
        found = list(_findings(provider, limit, rule(offered, limit), prefix))
        too_large = too_large or (limit.code == "schema_too_large" and bool(found))
        yield from found


def _findings(
    provider: Provider, limit: Limit, sightings: Iterator[Sighting], prefix: str
) -> Iterator[ProviderFinding]:
    """The first places of a kind one by one, the rest as one finding that counts them."""
    more, last = 0, ""
    for index, each in enumerate(sightings):
        if index >= MOST_OF_A_KIND:
            more, last = more + 1, each.place
            continue
        finding = Finding(limit.code, limit.severity, prefix + each.place, each.reason, each.remedy)
        yield ProviderFinding(provider.name, finding, limit.source, limit.seen)
    if more:
        finding = Finding(
            limit.code,
            limit.severity,
            prefix + last,
            f"{more} more places are like this one.",
            "Change them the same way.",
        )
        yield ProviderFinding(provider.name, finding, limit.source, limit.seen)
