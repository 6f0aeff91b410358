"""Labels: joining, building, looking up, releasing (contract 1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salvor_admin.domain import canonical, labels
from salvor_admin.domain.labels import Label, Labelled, Sensitivity, Trust
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.labelled_values import label_of, read, value_of, written_label

ROWS = cases("labels")


def of_op(*ops):
    return [row for row in ROWS if row["op"] in ops]


def test_every_recorded_operation_is_played():
    assert {row["op"] for row in ROWS} == {"join", "build", "map", "lookup", "effective", "release_valid", "run"}


def written_value(labelled):
    return {
        "value_text": canonical.text(labelled.value),
        "label": written_label(labelled.label),
        "fields": {path: written_label(label) for path, label in labelled.fields.items()},
        "marks": [
            {"destination": mark.destination, "field": mark.scope, "sensitivity": mark.sensitivity, "trust": mark.trust}
            for mark in labelled.marks
        ],
    }


@pytest.mark.parametrize("row", of_op("join"), ids=case_name)
def test_a_join_is_the_recorded_one(row):
    assert written_label(labels.join(map(label_of, row["labels"]))) == row["got"]["label"]


@pytest.mark.parametrize("row", of_op("build"), ids=case_name)
def test_a_built_container_stores_the_recorded_labels_and_marks(row):
    assert written_value(value_of(row["value"])) == row["got"]


@pytest.mark.parametrize("row", of_op("map"), ids=case_name)
def test_a_rewrite_keeps_only_what_holds_for_the_whole(row):
    before = value_of(row["value"])
    assert written_value(labels.rewritten(before, read(row["got"]["value_text"]))) == row["got"]


@pytest.mark.parametrize("row", of_op("lookup"), ids=case_name)
def test_a_look_up_gives_the_recorded_label(row):
    assert written_label(labels.label_at(value_of(row["value"]), row["path"])) == row["got"]["label"]


@pytest.mark.parametrize("row", of_op("effective"), ids=case_name)
def test_a_destination_sees_the_recorded_label(row):
    seen = labels.effective(value_of(row["value"]), row["destination"], row.get("path", ""))
    assert written_label(seen) == row["got"]["label"]


@pytest.mark.parametrize("row", of_op("release_valid"), ids=case_name)
def test_a_release_has_a_form_that_can_be_made_or_not(row):
    release = row["release"]
    accepted = labels.is_release(
        trust=release["trust"],
        sensitivity=None if release["sensitivity"] is None else Sensitivity(release["sensitivity"]),
        basis=release["basis"],
        destination=release["destination"],
        fields=release["fields"],
        evidence=release["evidence"],
    )
    assert accepted is row["got"]["accepted"]


@pytest.mark.parametrize("row", [row for row in of_op("run") if "label" in row["got"]], ids=case_name)
def test_what_a_tool_or_a_model_gives_back_carries_the_recorded_label(row):
    def level(name):
        return Sensitivity(row[name]) if name in row else None

    if row["what"] == "tool":
        output = Sensitivity(row["catalogue"].get("output_sensitivity", "public"))
        produced = labels.tool_result(row["tool"], output)
    else:
        relayed = [value_of(each).label for each in row.get("relayed", ())]
        conversation = labels.join([value_of(row["value"]).label, *relayed]) if relayed else labels.TRUSTED_CONSTANT
        produced = labels.model_completion(
            "model:anthropic/example-model-1",
            ceiling=level("max_sensitivity"),
            output_sensitivity=level("output_sensitivity"),
            conversation=conversation,
        )
    assert written_label(produced) == row["got"]["label"]


@pytest.mark.parametrize("row", [row for row in of_op("run") if (row["got"].get("told") or {})], ids=case_name)
def test_a_failure_text_of_the_far_side_is_labelled_like_a_result(row):
    output = Sensitivity(row["catalogue"].get("output_sensitivity", "public"))
    assert written_label(labels.tool_result(row["tool"], output)) == row["got"]["told"]["label"]


def test_two_values_made_into_one_keep_their_joined_label_alone():
    one = Labelled(1, labels.from_outside("tool://a/b"), {}, (labels.Mark("tool://a/b", trust=True),))
    both = labels.combined(one, Labelled(2), [1, 2])
    assert (both.label, both.fields, both.marks) == (one.label, {}, ())


some_labels = st.builds(
    Label,
    trust=st.sampled_from(Trust),
    sensitivity=st.sampled_from(Sensitivity),
    provenance=st.frozensets(st.sampled_from(["tool://a/b", "model:p/m", "sender:x"])),
)


@given(some_labels, some_labels, some_labels)
def test_joining_is_indifferent_to_order_and_grouping_and_never_improves(one, two, three):
    assert labels.join([one, two, three]) == labels.join([labels.join([three, one]), two])
    joined = labels.join([one, two])
    assert not one.sensitivity.above(joined.sensitivity)
    assert one.provenance <= joined.provenance
    assert joined.trust is Trust.UNTRUSTED or one.trust is Trust.TRUSTED
