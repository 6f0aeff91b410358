"""A model's call against what was offered and granted (contract 7)."""

from __future__ import annotations

import pytest

from salvor_admin.domain import canonical, declarations, grants, labels, manifests, matching, sink, tool_ids
from salvor_admin.domain.agents import Agent
from salvor_admin.domain.grants import ProtectedField, ToolGrant
from salvor_admin.domain.labels import Label, Labelled, Sensitivity, Trust
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.sink import CatalogueEntry, Ceilings
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.labelled_values import read, value_of, written_label
from tests.domain.left_out import LEFT_OUT

ROWS = [row for row in cases("matching") if row["name"] not in LEFT_OUT["matching"]]
LOOPS = [row for row in ROWS if row["kind"] == "tool-calling" and "outcome" not in row]
CODED = [row for row in ROWS if row["kind"].startswith("coded")]
PLANNED = [row for row in ROWS if row["kind"] == "planned"]
CALLS = [row for row in ROWS if row["kind"] == "call"]
REFUSED = [row for row in ROWS if row.get("outcome") == "manifest_refused"]
MODEL = {"provider": "fake", "model": "m-1"}


def test_every_recorded_call_that_is_not_left_out_is_played_once():
    played = [row["name"] for rows in (LOOPS, CODED, PLANNED, CALLS, REFUSED) for row in rows]
    assert sorted(played) == sorted(row["name"] for row in ROWS)


def granted_in(row):
    return [grants.read_grant(grant) for grant in row["grants"]]


def manifest_tree(row):
    security = row.get("agent", {"max_sensitivity_egress": "internal"})
    execution = row.get("execution") or {"kind": "tool-calling"}
    spec = {"security": security, "execution": execution, "tools": row["grants"], "budgets": {}, "model": MODEL}
    head = {"apiVersion": "agentplane.hupe1980.github.io/v1alpha1", "kind": "Agent"}
    return head | {"metadata": {"name": "a", "version": "1"}, "spec": spec}


def agent_of(row):
    security = row.get("agent", {"max_sensitivity_egress": "internal"})
    spec = {"security": security, "tools": [], "models": {"privileged": MODEL}}
    return Agent({"metadata": {"name": "a", "version": "1"}, "spec": spec})


def offered_in(row):
    known = set(row.get("catalogue_only") or [grant["ref"] for grant in row["grants"]])
    return [grant for grant in granted_in(row) if grant.reference in known]


class Loop:
    """Plays the model turns of a recorded case through the rules, and the far side as recorded."""

    def __init__(self, row):
        self.row = row
        self.agent = agent_of(row)
        self.conversation = value_of(row["run_input"]).label if "run_input" in row else labels.TRUSTED_CONSTANT
        self.answers = list(row.get("tool_answers", ()))
        self.told = []
        self.dispatched = []
        self.bundles = []

    def play(self):
        for turn in self.row["model_turns"]:
            if turn.get("truncated") or "say" in turn:
                return self
            conversation = self.conversation
            told = []
            for call in turn["calls"]:
                outcome = self.one_call(call, conversation)
                if outcome is None:
                    return self
                told.append(outcome)
            self.told.append(told)
        return self

    def one_call(self, call, conversation):
        label = matching.bundle_label(self.agent, conversation)
        arguments = Labelled(read(call["arguments_text"]), label)
        decision = matching.decide_call(
            call["name"], arguments, granted=offered_in(self.row), ceilings=matching.ceilings_of(self.agent)
        )
        if decision.decision is not matching.Decision.ALLOW:
            known = {"unknown_name", "invalid_arguments"}
            return (decision.reason if decision.reason in known else "refused_at_sink"), decision.told
        self.bundles.append(label)
        self.dispatched.append({"tool": decision.grant.reference, "arguments_text": canonical.rfc8785(arguments.value)})
        self.conversation = labels.join([self.conversation, labels.tool_result(decision.grant.reference)])
        answer = self.answers.pop(0) if self.answers else {}
        if answer.get("fail") == "timed_out":
            return None
        return ("far_side_failed" if "fail" in answer else "dispatched"), None


@pytest.mark.parametrize("row", LOOPS, ids=case_name)
def test_a_recorded_loop_offers_matches_and_dispatches_as_recorded(row):
    offered = matching.offers(offered_in(row))
    assert [{"name": each.name, "tool": each.tool.reference} for each in offered] == row["offered"]
    played = Loop(row).play()
    assert played.dispatched == row["dispatched"]
    expected = [[call["outcome"] for call in turn] for turn in row["told_before_each_later_turn"]]
    assert [[outcome for outcome, _ in turn] for turn in played.told][: len(expected)] == expected


@pytest.mark.parametrize("row", LOOPS, ids=case_name)
def test_a_refused_call_is_told_in_words_that_hold_the_recorded_ones(row):
    played = Loop(row).play()
    for turn, recorded in zip(played.told, row["told_before_each_later_turn"], strict=False):
        for (outcome, told), expected in zip(turn, recorded, strict=True):
            if outcome in ("unknown_name", "invalid_arguments", "refused_at_sink"):
                assert [part for part in expected["told_must_contain"] if part not in told] == []


@pytest.mark.parametrize("row", [row for row in LOOPS if "outbound_labels" in row], ids=case_name)
def test_what_a_model_writes_carries_the_recorded_label(row):
    recorded = [each["outbound_label"] for each in row["outbound_labels"] if each["kind"] == "tool.call"]
    assert [written_label(label) for label in Loop(row).play().bundles] == recorded


@pytest.mark.parametrize("row", REFUSED, ids=case_name)
def test_a_manifest_that_the_loop_would_never_see_is_refused(row):
    with pytest.raises(Refusal) as caught:
        manifests.from_value(manifest_tree(row))
    assert [part for part in row["must_contain"] if part not in caught.value.message] == []


@pytest.mark.parametrize("row", CODED, ids=case_name)
def test_a_coded_answer_to_a_call_goes_by_the_offer_alone(row):
    offers = []
    for offer in row["offers"]:
        tool = tool_ids.parse(offer["offering"]) if "offering" in offer else None
        parameters = read(offer["parameters_text"])
        if tool is None:
            offers.append(declarations.new(offer["name"], offer["description"], parameters))
        else:
            made = declarations.offering(tool, offer["description"], parameters)
            offers.append(made.named(offer["named"]) if "named" in offer else made)
    try:
        tool = declarations.answered_tool(row["call"]["name"], offers)
    except Refusal as refusal:
        outcomes = {"tool_not_offered": "unknown_name", "tool_offered_twice": "ambiguous_name"}
        assert outcomes[refusal.code] == row["outcome"]
        return
    by_reference = {grant.reference: grant for grant in granted_in(row)}
    entries = {reference: CatalogueEntry.derived_from(grant) for reference, grant in by_reference.items()}
    for extra in row.get("catalogue_extra", ()):
        safety = extra["safety"]
        entries[extra["ref"]] = CatalogueEntry(safety["mutates"], Sensitivity(safety["max_sensitivity"]))
    arguments = value_of(row["arguments"]) if "arguments" in row else Labelled(read(row["call"]["arguments_text"]))
    judged = sink.judge(
        reference=tool.reference,
        arguments=arguments,
        grant=by_reference.get(tool.reference),
        catalogue=entries[tool.reference],
        ceilings=Ceilings(egress=Sensitivity.INTERNAL),
    )
    outcome = {"allow": "dispatched", "refuse": "refused_at_sink", "run_ends": "not_granted"}[judged.decision]
    assert outcome == row["outcome"]
    if "told_to_model" in row:
        assert (judged.told is not None) is row["told_to_model"]


@pytest.mark.parametrize("row", CALLS, ids=case_name)
def test_a_call_agent_sends_its_input_under_the_inputs_own_label(row):
    (grant,) = granted_in(row)
    decision = matching.decide_call(
        tool_ids.parse(grant.reference).wire_name,
        value_of(row["run_input"]),
        granted=[grant],
        ceilings=Ceilings(egress=Sensitivity.INTERNAL),
    )
    assert decision.decision == "allow"


@pytest.mark.parametrize("row", PLANNED, ids=case_name)
def test_a_step_a_planner_wrote_is_matched_and_judged_as_recorded(row):
    (turn,) = row["model_turns"]
    (step,) = turn["structure"]["steps"]
    arguments = Labelled(read(step["args"]), matching.bundle_label(agent_of(row)))
    decision = matching.decide_call(
        step["tool"], arguments, granted=granted_in(row), ceilings=Ceilings(egress=Sensitivity.INTERNAL)
    )
    sent = {"tool": row["grants"][0]["ref"], "arguments_text": canonical.rfc8785(arguments.value)}
    assert ([sent] if decision.decision == "allow" else []) == row["dispatched"]
    if decision.reason == "invalid_arguments":
        assert [part for part in row["run_reason_must_contain"] if part not in decision.told] == []
    if "journal_actions" in row:
        assert (decision.reason, decision.path) == ("field_taint", "/id")


# --- held calls (contract 7.1) -------------------------------------------------------------------------------------------

PIN = ToolGrant(
    "tool://gis/pin.set",
    max_sensitivity=Sensitivity.INTERNAL,
    protected_fields=(ProtectedField("/id", require_trusted=True),),
    requires_approval=True,
    arguments={"type": "object", "additionalProperties": False, "properties": {"id": {"type": "string"}}},
)
WRITTEN = Labelled({"id": "p1"}, labels.from_outside("model:fake/m-1"))


def test_a_call_that_needs_a_person_is_held_even_where_the_sink_would_refuse_it():
    held = matching.decide_call("gis__pin-set", WRITTEN, granted=[PIN])
    assert (held.decision, held.reason, held.told) == ("hold", "requires_approval", None)
    assert held.judgement.reason == "field_taint"


def test_arguments_that_do_not_fit_are_refused_before_anybody_is_asked():
    refused = matching.decide_call("gis__pin-set", Labelled({"id": 7}, WRITTEN.label), granted=[PIN])
    assert (refused.decision, refused.reason) == ("refuse", "invalid_arguments")


def test_a_standing_approval_asks_nobody_and_changes_no_label():
    decided = matching.decide_call("gis__pin-set", WRITTEN, granted=[PIN], standing_approval=True)
    assert (decided.decision, decided.reason) == ("refuse", "field_taint")


def test_approval_alone_changes_no_label():
    decided = matching.decide_approved_call(PIN, WRITTEN)
    assert (decided.decision, decided.reason) == ("refuse", "field_taint")


def test_an_amendment_is_trusted_comes_from_the_decision_and_keeps_the_sensitivity():
    label = matching.amended(WRITTEN, {"id": "p2"}).label
    assert label == Label(Trust.TRUSTED, Sensitivity.INTERNAL, frozenset({"task:agent.approve_call"}))
    assert matching.decide_approved_call(PIN, WRITTEN, amendment={"id": "p2"}).decision == "allow"


def test_an_amendment_that_does_not_fit_is_refused_and_says_so():
    decided = matching.decide_approved_call(PIN, WRITTEN, amendment={"id": 2})
    assert (decided.decision, decided.reason) == ("refuse", "invalid_arguments")
    assert "amendment" in decided.told


def test_a_refusal_at_the_sink_tells_the_same_whatever_the_cause():
    secret = Labelled({"id": "p1"}, Label(Trust.UNTRUSTED, Sensitivity.SECRET))
    told = {matching.decide_approved_call(PIN, each).told for each in (WRITTEN, secret)}
    assert told == {sink.TOLD}
