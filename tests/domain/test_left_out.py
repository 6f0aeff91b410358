"""The list of recorded agentplane cases that are left out is right, and no longer than it has to be."""

from __future__ import annotations

import pytest

from salvor_admin.domain import call_cases
from tests.domain.agentplane_vectors import cases
from tests.domain.left_out import LEFT_OUT, LISTED


@pytest.mark.parametrize("name", LISTED)
def test_each_entry_has_its_reason_its_count_and_recorded_cases_only(name):
    recorded = {row["name"] for row in cases(name)}
    for entry in LISTED[name]:
        assert entry["reason"]
        assert entry["count"] == len(entry["cases"]) == len(set(entry["cases"]) & recorded)


def test_a_sink_case_that_is_left_out_is_really_judged_otherwise():
    for row in cases("sink"):
        if row["name"] in LEFT_OUT["sink"]:
            judged = call_cases.read_case(row).judge()
            assert (judged.decision, judged.reason) != (row["decision"], row.get("reason")), row["name"]


def test_a_listing_that_is_left_out_failed_before_it_was_read():
    failures = {row["failure"] for row in cases("drafting") if row["name"] in LEFT_OUT["drafting"]}
    assert failures == {"connect"}


def test_a_label_case_that_is_left_out_gave_nothing_back():
    results = [row["got"] for row in cases("labels") if row["name"] in LEFT_OUT["labels"]]
    assert all("label" not in got and not got.get("told") for got in results)
    left_out = {row["name"] for row in cases("labels") if "error" in row["got"] and not row["got"].get("told")}
    assert left_out == LEFT_OUT["labels"]
