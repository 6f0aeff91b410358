"""Findings when the rules change: what newer rules see is seen, and what they no longer see is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from salvor_admin.domain import review
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.findings import client_tools as rules
from salvor_admin.domain.findings import finding
from salvor_admin.domain.findings.finding import Finding, Severity
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.access import Actor
from salvor_admin.reviews import selectors, services
from salvor_admin.reviews.models import Verdict
from tests.reviews.factories import a_revision, a_submitted_change

pytestmark = pytest.mark.django_db

Newer = Callable[[list[Finding]], None]


@pytest.fixture
def newer_rules(monkeypatch: pytest.MonkeyPatch) -> Newer:
    """From here on a later version of the rules finds exactly this."""

    def later(findings: list[Finding]) -> None:
        def one_rule(tool: ClientTool) -> list[Finding]:
            return findings

        monkeypatch.setattr(finding, "RULE_SET", finding.RULE_SET + 1)
        monkeypatch.setattr(rules, "_RULES", (one_rule,))

    return later


BLOCKED = Finding("newly_seen", Severity.BLOCK, "/name", "The name is a trap.", "Choose another.")


def test_a_finding_of_newer_rules_stands_in_the_way_of_an_approval_and_is_shown(
    ada: Actor, grace: Actor, newer_rules: Newer
) -> None:
    request = a_submitted_change(author=ada)
    newer_rules([BLOCKED])
    with pytest.raises(Refusal) as caught:
        services.give_verdict(request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest)
    assert (caught.value.code, Verdict.objects.count()) == ("finding_unacknowledged", 0)
    assert [(found.code, str(found.pk)) for found in selectors.detail(request).findings] == [
        ("newly_seen", caught.value.place)
    ]


def test_what_newer_rules_no_longer_see_is_no_longer_shown(ada: Actor, grace: Actor, newer_rules: Newer) -> None:
    request = a_submitted_change(author=ada, effect="read", trust_completion=False, require_equal=[])
    assert "never_completable" in [found.code for found in selectors.detail(request).findings]
    newer_rules([])
    approved = services.give_verdict(
        request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest
    )
    assert (approved.state, selectors.detail(request).findings) == ("approved", [])


def test_until_newer_rules_have_looked_the_older_findings_stand(ada: Actor, newer_rules: Newer) -> None:
    revision = a_revision(author=ada, effect="read", trust_completion=False, require_equal=[])
    newer_rules([])
    assert "never_completable" in [found.code for found in selectors.findings_of_revision(revision)]
