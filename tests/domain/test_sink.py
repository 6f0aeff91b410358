"""The sink's decisions (contract 8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from salvor_admin.domain import call_cases, labels, sink
from salvor_admin.domain.grants import ProtectedField, ToolGrant
from salvor_admin.domain.labels import Label, Labelled, Mark, Sensitivity, Trust
from salvor_admin.domain.sink import CatalogueEntry, Ceilings, Decision
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.left_out import LEFT_OUT

SINK = "tool://loans/extend"
M = "model:anthropic/example-model-1"
C = "tool://catalogue/search"

ALL = cases("sink")
ROWS = [row for row in ALL if row["name"] not in LEFT_OUT["sink"]]


@pytest.mark.parametrize("row", ROWS, ids=case_name)
def test_a_call_is_judged_as_recorded(row):
    judged = call_cases.read_case(row).judge()
    assert (judged.decision, judged.reason, judged.path, judged.source) == (
        row["decision"],
        row.get("reason"),
        row.get("path"),
        row.get("source_named"),
    )
    assert (judged.told is None) is (row.get("told_to_model") is None)


def test_every_numbered_row_of_the_contract_is_among_the_recorded_or_the_written_ones():
    recorded = {row["contract_row"] for row in ROWS if "contract_row" in row}
    assert recorded | {number for number, *_ in CONTRACT_8} == set(range(1, 39))


def u(sensitivity="internal", *sources):
    return Label(Trust.UNTRUSTED, Sensitivity(sensitivity), frozenset(sources or {M}))


def t(sensitivity="public", *sources):
    return Label(Trust.TRUSTED, Sensitivity(sensitivity), frozenset(sources))


def grant(*fields, ms="internal", ro=False):
    return ToolGrant(
        SINK, mutates=not ro, max_sensitivity=None if ms is None else Sensitivity(ms), protected_fields=fields
    )


def field(path, **rules):
    if "max_sensitivity" in rules:
        rules["max_sensitivity"] = Sensitivity(rules["max_sensitivity"])
    return ProtectedField(path, **rules)


def judged(granted, arguments, *, egress=None, journal=None, catalogue=None):
    entry = catalogue or (CatalogueEntry() if granted is None else CatalogueEntry.derived_from(granted))
    ceilings = Ceilings(
        egress=None if egress is None else Sensitivity(egress),
        journal=None if journal is None else Sensitivity(journal),
    )
    judgement = sink.judge(reference=SINK, arguments=arguments, grant=granted, catalogue=entry, ceilings=ceilings)
    return judgement.decision if judgement.reason is None else f"{judgement.decision} {judgement.reason}"


def obj(**members):
    return labels.built_object([(name, Labelled(value, label)) for name, (value, label) in members.items()])


WHOLE = {"loan_id": "L1", "weeks": 2, "note": "n"}
TRUST_HERE = (Mark(SINK, trust=True),)
LOAN_TRUSTED = field("/loan_id", require_trusted=True)
LOAN_FROM_C = field("/loan_id", allowed_sources=(C,))

# number, grant, arguments, keywords, decision with reason
CONTRACT_8 = [
    (1, grant(ms=None, ro=True), Labelled(WHOLE, t()), {}, "allow"),
    (2, grant(ms=None, ro=True), Labelled(WHOLE, u()), {}, "refuse egress"),
    (3, grant(ro=True), Labelled(WHOLE, u()), {}, "allow"),
    (4, grant(ms="confidential", ro=True), Labelled(WHOLE, u("confidential")), {"egress": "internal"}, "refuse egress"),
    (5, grant(ro=True), Labelled(WHOLE, u("confidential")), {"egress": "confidential"}, "refuse egress"),
    (6, grant(ms="confidential", ro=True), Labelled(WHOLE, u("confidential")), {"egress": "confidential"}, "allow"),
    (7, grant(), Labelled(WHOLE, u()), {}, "refuse taint"),
    (8, grant(), Labelled(WHOLE, t("internal")), {}, "allow"),
    (9, grant(), Labelled(WHOLE, u(), {}, TRUST_HERE), {}, "allow"),
    (
        10,
        grant(),
        Labelled(WHOLE, u(), {}, (Mark("tool://loans/close", trust=True),)),
        {},
        "refuse release_destination",
    ),
    (11, grant(LOAN_TRUSTED), obj(loan_id=("L1", t()), note=("n", u())), {}, "allow"),
    (12, grant(LOAN_TRUSTED), Labelled(WHOLE, u()), {}, "refuse field_taint"),
    (13, grant(LOAN_TRUSTED), Labelled({"note": "n"}, t()), {}, "refuse field_missing"),
    (14, grant(LOAN_TRUSTED), Labelled({"loan_id": None}, t()), {}, "allow"),
    (15, grant(LOAN_FROM_C), obj(loan_id=("L1", u("internal", C))), {}, "allow"),
    (16, grant(LOAN_FROM_C), Labelled(WHOLE, u("internal", C, M)), {}, "refuse field_source"),
    (17, grant(LOAN_FROM_C), Labelled(WHOLE, t()), {}, "refuse field_source"),
    (
        18,
        grant(field("/loan_id", allowed_sources=(C, M))),
        Labelled(WHOLE, u("internal", C, M)),
        {},
        "allow",
    ),
    (
        19,
        grant(LOAN_FROM_C, field("/note", max_sensitivity="internal"), ms="confidential"),
        obj(loan_id=("L1", u("internal", C)), note=("n", u("confidential"))),
        {},
        "refuse field_ceiling",
    ),
    (20, grant(field("/note", max_sensitivity="internal")), Labelled(WHOLE, u()), {}, "allow"),
    (21, grant(field("/weeks", one_of=(1, 2, 3))), Labelled({"weeks": 2}, u()), {}, "allow"),
    (22, grant(field("/weeks", one_of=(1, 2, 3))), Labelled({"weeks": 2.0}, u()), {}, "refuse field_value"),
    (23, grant(field("/weeks", one_of=(1, 2, 3))), Labelled({"weeks": True}, u()), {}, "refuse field_value"),
    (
        24,
        grant(field("/w", one_of=({"a": 1, "b": 2},))),
        Labelled({"w": {"b": 2, "a": 1}}, u()),
        {},
        "allow",
    ),
    (
        25,
        grant(field("/items/0/id", require_trusted=True)),
        Labelled({"items": [{"id": 1}]}, t(), {"/items": u()}),
        {},
        "refuse field_taint",
    ),
    (26, grant(field("/items/0/id", require_trusted=True)), Labelled({"items": []}, t()), {}, "refuse field_missing"),
    (
        27,
        grant(field("/items/*/id", require_trusted=True)),
        Labelled({"items": [{"id": 1}]}, t()),
        {},
        "refuse field_missing",
    ),
    (
        27,
        grant(field("/items/-/id", require_trusted=True)),
        Labelled({"items": [{"id": 1}]}, t()),
        {},
        "refuse field_missing",
    ),
    (28, grant(field("/a~1b", require_trusted=True)), Labelled({"a/b": 1}, t()), {}, "allow"),
    (29, grant(field("/items/01", require_trusted=True)), Labelled({"items": [1, 2]}, t()), {}, "refuse field_missing"),
    (30, grant(field("/a/b", require_trusted=True)), Labelled({"a": "text"}, t()), {}, "refuse field_missing"),
    (31, grant(field("/q", require_trusted=True), ro=True), Labelled({"q": "x"}, u()), {}, "refuse field_taint"),
    (
        32,
        grant(ro=True),
        Labelled(WHOLE, u()),
        {"catalogue": CatalogueEntry(mutates=True, max_sensitivity=Sensitivity.INTERNAL)},
        "refuse taint",
    ),
    (
        33,
        grant(field("/q", require_trusted=True)),
        Labelled({"q": "x"}, t()),
        {"catalogue": CatalogueEntry(max_sensitivity=Sensitivity.INTERNAL)},
        "run_ends not_declared",
    ),
    (34, None, Labelled(WHOLE, t()), {}, "run_ends not_declared"),
    (
        35,
        grant(LOAN_TRUSTED),
        Labelled(WHOLE, u(), {}, (Mark(SINK, trust=True, scope="/loan_id"),)),
        {},
        "allow",
    ),
    (
        36,
        grant(ro=True),
        Labelled(WHOLE, u("confidential"), {}, (Mark(SINK, sensitivity=Sensitivity.INTERNAL),)),
        {},
        "allow",
    ),
    (
        37,
        grant(ro=True),
        Labelled(WHOLE, u("confidential"), {}, (Mark(SINK, sensitivity=Sensitivity.INTERNAL),)),
        {"journal": "internal"},
        "refuse journal",
    ),
    (
        38,
        grant(field("/b", require_trusted=True), field("/a", require_trusted=True)),
        Labelled({"b": 1}, u()),
        {},
        "refuse field_missing",
    ),
]


@pytest.mark.parametrize(("number", "granted", "arguments", "keywords", "expected"), CONTRACT_8)
def test_a_worked_example_of_the_contract_comes_out(number, granted, arguments, keywords, expected):
    assert judged(granted, arguments, **keywords) == expected


def test_of_two_missing_fields_the_first_by_path_is_named():
    fields = (field("/b", require_trusted=True), field("/a", require_trusted=True))
    granted = grant(*fields)
    judgement = sink.judge(
        reference=SINK,
        arguments=Labelled({}, u()),
        grant=granted,
        catalogue=CatalogueEntry.derived_from(granted),
    )
    assert judgement.path == "/a"


def test_a_tool_outside_the_catalogue_is_not_prepared():
    judgement = sink.judge(reference=SINK, arguments=Labelled({}), grant=grant(), catalogue=None)
    assert (judgement.decision, judgement.reason) == ("not_prepared", "not_in_catalogue")


# --- never more permissive ---------------------------------------------------------------------------------------------

LEVELS = list(Sensitivity)
SOURCES = [M, C, "sender:ann"]
PATHS = ["/loan_id", "/weeks", "/note", "", "/nothing"]

some_labels = st.builds(
    Label,
    trust=st.sampled_from(Trust),
    sensitivity=st.sampled_from(Sensitivity),
    provenance=st.frozensets(st.sampled_from(SOURCES)),
)
ceilings_or_none = st.none() | st.sampled_from(Sensitivity)
some_fields = st.lists(
    st.builds(
        ProtectedField,
        path=st.sampled_from(PATHS),
        require_trusted=st.booleans(),
        allowed_sources=st.sampled_from([(), (C,), (C, M), tuple(SOURCES)]),
        one_of=st.sampled_from([(), (2,), ("L1", 2), (2.0,)]),
        max_sensitivity=ceilings_or_none,
    ),
    max_size=3,
    unique_by=lambda each: each.path,
)
some_marks = st.lists(
    st.builds(
        Mark,
        destination=st.sampled_from([SINK, "tool://loans/close"]),
        trust=st.booleans(),
        sensitivity=ceilings_or_none,
        scope=st.sampled_from(["", "/loan_id", "/note"]),
    ),
    max_size=2,
)
some_arguments = st.builds(
    Labelled,
    value=st.just(WHOLE),
    label=some_labels,
    fields=st.dictionaries(st.sampled_from(["/loan_id", "/weeks", "/note"]), some_labels, max_size=3),
    marks=some_marks.map(tuple),
)
some_grants = st.builds(
    ToolGrant,
    reference=st.just(SINK),
    mutates=st.booleans(),
    max_sensitivity=ceilings_or_none,
    protected_fields=some_fields.map(tuple),
)
some_ceilings = st.builds(Ceilings, egress=ceilings_or_none, journal=ceilings_or_none, plane_journal=ceilings_or_none)


def allows(granted, arguments, ceilings):
    return (
        sink.judge(
            reference=SINK,
            arguments=arguments,
            grant=granted,
            catalogue=CatalogueEntry.derived_from(granted),
            ceilings=ceilings,
        ).decision
        is Decision.ALLOW
    )


@given(
    some_grants, some_arguments, some_ceilings, some_labels, st.sampled_from(["whole", "/loan_id", "/weeks", "/note"])
)
def test_a_worse_label_never_allows_more(granted, arguments, ceilings, addition, where):
    # A source is worse where sources are listed; one that was there before changes nothing.
    if where == "whole":
        worse = replace(arguments, label=labels.join([arguments.label, addition]))
        if not arguments.label.provenance and addition.provenance:
            assume(False)  # from nowhere to somewhere is no worsening: contract 8, step 8c
    else:
        before = labels.label_at(arguments, where)
        if not before.provenance and addition.provenance:
            assume(False)
        worse = replace(arguments, fields={**arguments.fields, where: labels.join([before, addition])})
    assert allows(granted, arguments, ceilings) or not allows(granted, worse, ceilings)


@given(
    some_grants,
    some_arguments,
    some_ceilings,
    st.sampled_from(["egress", "journal", "plane_journal"]),
    st.integers(0, 3),
)
def test_a_lower_ceiling_never_allows_more(granted, arguments, ceilings, which, level):
    before = getattr(ceilings, which)
    lower = replace(ceilings, **{which: labels.strictest(before, LEVELS[level])})
    assert allows(granted, arguments, ceilings) or not allows(granted, arguments, lower)


@given(some_grants, some_arguments, some_ceilings, st.integers(0, 3))
def test_a_lower_ceiling_of_the_grant_never_allows_more(granted, arguments, ceilings, level):
    before = granted.max_sensitivity or Sensitivity.PUBLIC
    lower = replace(granted, max_sensitivity=labels.strictest(before, LEVELS[level]))
    assert allows(granted, arguments, ceilings) or not allows(lower, arguments, ceilings)


@given(some_grants, some_arguments, some_ceilings, some_fields)
def test_one_more_rule_beside_others_never_allows_more(granted, arguments, ceilings, more):
    # The first field of a grant lifts the gate on the whole bundle (contract 8, row 20), so it is no mere addition.
    paths = {each.path for each in granted.protected_fields}
    added = tuple(each for each in more if each.path not in paths)
    if not granted.protected_fields:
        assume(False)
    stricter = replace(granted, protected_fields=(*granted.protected_fields, *added))
    assert allows(granted, arguments, ceilings) or not allows(stricter, arguments, ceilings)


@given(some_grants, some_arguments, some_ceilings)
def test_a_first_rule_on_a_reading_tool_and_mutation_never_allow_more(granted, arguments, ceilings):
    reading = replace(granted, mutates=False)
    assert allows(replace(reading, protected_fields=()), arguments, ceilings) or not allows(
        reading, arguments, ceilings
    )
    assert allows(reading, arguments, ceilings) or not allows(replace(granted, mutates=True), arguments, ceilings)


@given(some_grants, some_arguments, some_ceilings, st.integers(0, 2), st.booleans())
def test_a_stricter_rule_on_a_field_never_allows_more(granted, arguments, ceilings, index, trusted):
    if index >= len(granted.protected_fields):
        assume(False)
    fields = list(granted.protected_fields)
    fields[index] = (
        replace(fields[index], require_trusted=True)
        if trusted
        else replace(fields[index], max_sensitivity=Sensitivity.PUBLIC)
    )
    stricter = replace(granted, protected_fields=tuple(fields))
    assert allows(granted, arguments, ceilings) or not allows(stricter, arguments, ceilings)
