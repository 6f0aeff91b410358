"""Whatever a document holds, reading it gives a value or a refusal that says where."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from salvor_admin.domain import agent_tests, call_cases, drafting, grants, manifests
from salvor_admin.domain.findings import grants as grant_findings
from salvor_admin.domain.findings import listings
from salvor_admin.domain.refusals import Refusal
from tests.domain.agentplane_vectors import cases

scalars = st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.sampled_from(["", "a", "tool://a/b", "$ref", "object", "refuse", "internal", "/a", "~", "\u202e", "tools"])
names = st.sampled_from(
    [
        *("name", "ref", "mutates", "arguments", "protected_fields", "path", "one_of", "allowed_sources", "tool"),
        *("type", "properties", "additionalProperties", "$ref", "anyOf", "items", "inputSchema", "annotations"),
        *("label", "fields", "marks", "value", "value_text", "object", "array", "trust", "sensitivity", "provenance"),
        *("agent", "calls", "expect", "reason", "grant", "catalogue", "spec", "metadata", "security", "content"),
    ]
)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
SAMPLES = [json.loads(json.dumps(row)) for row in cases("sink")[:40]]


def refused_or(read, *words):
    try:
        return read(*words)
    except Refusal as refusal:
        assert refusal.message
        assert len(refusal.message) < 4_000
        return None


def planted(whole, steps, value):
    """A copy of a whole document with one place of it overwritten."""
    copy = json.loads(json.dumps(whole))
    node = copy
    for step in steps:
        inner = sorted(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        if not inner:
            return copy
        key = list(inner)[step % len(inner)]
        if step == steps[-1] or not isinstance(node[key], (dict, list)):
            node[key] = value
            return copy
        node = node[key]
    return copy


@given(values)
def test_any_value_is_a_grant_or_refused(value):
    grant = refused_or(grants.read_grant, value)
    if grant is not None:
        grant_findings.find_in_grant(grant, None)


@given(values)
def test_any_value_is_a_listed_tool_or_refused(value):
    listed = refused_or(drafting.read_tool, value, "crm")
    if listed is not None:
        listings.find(listed, [listed])


@given(st.dictionaries(names, values, max_size=4))
def test_any_input_schema_is_drafted(schema):
    listed = drafting.read_tool({"name": "lookup", "inputSchema": schema}, "crm")
    assert drafting.draft(listed).reference == "tool://crm/lookup"
    assert listings.find(listed)


@given(st.sampled_from(SAMPLES), st.lists(st.integers(0, 9), min_size=1, max_size=5), values)
def test_any_case_with_one_place_overwritten_is_judged_or_refused(case, steps, value):
    read = refused_or(call_cases.read_case, planted(case, steps, value))
    if read is not None:
        read.judge()


MANIFEST = {
    "apiVersion": "agentplane.hupe1980.github.io/v1alpha1",
    "kind": "Agent",
    "metadata": {"name": "a", "version": "1", "annotations": {"example.com/owner": "x"}},
    "spec": {
        "identity": {"role": "Help.", "constraints": ""},
        "security": {
            "max_sensitivity_egress": "internal",
            "content": {
                "rules": [{"id": "a", "match": {"contains": ["x"]}, "at": {"sinks": ["tool.call"]}, "then": "refuse"}]
            },
        },
        "execution": {"kind": "tool-calling"},
        "models": {"privileged": {"provider": "p", "model": "m", "max_input_tokens": 9, "compaction": None}},
        "output": {
            "schema": {"type": "object", "additionalProperties": False, "properties": {"s": {"type": "string"}}}
        },
        "oversight": {
            "approval": "none",
            "triage": [
                {
                    "name": "odd",
                    "summary": "s",
                    "when": [{"path": "/s", "equals": "x"}],
                    "deadline": {"name": "n", "kind": "hours", "params": {"n": 1}},
                }
            ],
        },
        "memory": {"recall": {"subject": "desk"}},
        "context": {"prompts": [{"server": "s", "name": "n"}]},
        "tools": [
            {
                "ref": "tool://a/b",
                "description": "d",
                "max_sensitivity": "internal",
                "arguments": {"type": "object", "additionalProperties": False, "properties": {"x": {}}},
                "protected_fields": [{"path": "/x", "one_of": [1]}],
            }
        ],
        "budgets": {"max_tokens": 5},
    },
}


def test_the_manifest_that_is_overwritten_below_is_a_good_one():
    assert manifests.from_value(MANIFEST).name == "a"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), values)
def test_any_manifest_with_one_place_overwritten_is_read_or_refused(steps, value):
    manifest = refused_or(manifests.from_value, planted(MANIFEST, steps, value))
    if manifest is not None:
        grant_findings.find(manifest)
        again = manifests.read_file(manifests.write_file([manifest]).encode())
        assert again[0].digest == manifest.digest


@given(values)
def test_any_value_is_a_test_file_or_refused(value):
    refused_or(agent_tests.read_file, json.dumps(value).encode())


@given(st.binary(max_size=60) | st.text(alphabet="a:-[]{}&*!|>'\"%@`?,# \n\t~<", max_size=40).map(str.encode))
def test_any_bytes_are_manifests_or_refused(raw):
    refused_or(manifests.read_file, raw)
