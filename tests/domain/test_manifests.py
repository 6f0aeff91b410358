"""Manifests: what is read, what is refused and in which order, and the digest (contract 5 and 9)."""

from __future__ import annotations

import base64

import pytest

from salvor_admin.domain import canonical, manifests, yaml_values
from salvor_admin.domain.refusals import Refusal
from tests.domain.agentplane_vectors import case_name, cases, recorded

ROWS = cases("manifests")
CANONICAL_TEXTS = recorded("manifests")["canonical_texts"]

CLOCK = """\
apiVersion: agentplane.hupe1980.github.io/v1alpha1
kind: Agent
metadata: {name: clock-reader, version: "1"}
spec:
  tools: [{ref: tool://clock/now, mutates: false}]
  budgets: {}
"""


def raw_of(row):
    return base64.b64decode(row["bytes_base64"]) if "bytes_base64" in row else row["yaml_text"].encode()


def refused(raw):
    with pytest.raises(Refusal) as caught:
        manifests.read_file(raw if isinstance(raw, bytes) else raw.encode())
    return caught.value


@pytest.mark.parametrize("row", [row for row in ROWS if row["result"] == "accept"], ids=case_name)
def test_an_accepted_file_has_the_recorded_names_and_digests(row):
    read = manifests.read_file(raw_of(row))
    assert [{"name": each.name, "version": each.version, "digest": each.digest} for each in read] == row["documents"]
    assert [each.text for each in read] == [CANONICAL_TEXTS[document["digest"]] for document in row["documents"]]


@pytest.mark.parametrize("row", [row for row in ROWS if row["result"] == "refuse"], ids=case_name)
def test_a_refused_file_is_refused_by_the_recorded_rule_and_names_what_is_wrong(row):
    refusal = refused(raw_of(row))
    assert refusal.code == f"manifest_{row['rule'].replace('-', '_')}"
    assert [fragment for fragment in row["must_contain"] if fragment not in refusal.message] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row["result"] == "accept"], ids=case_name)
def test_what_is_written_is_ascii_and_reads_back_with_the_same_digests(row):
    read = manifests.read_file(raw_of(row))
    written = manifests.write_file(read)
    assert written.isascii()
    assert [each.digest for each in manifests.read_file(written.encode())] == [each.digest for each in read]


@pytest.mark.parametrize("row", [row for row in ROWS if row["result"] == "accept"], ids=case_name)
def test_an_agent_and_its_grants_taken_apart_give_the_same_manifest_again(row):
    for each in manifests.read_file(raw_of(row)):
        assert manifests.assemble(each.agent, each.grants).digest == each.digest


@pytest.mark.parametrize("row", [row for row in ROWS if "documents_newer_reader" in row], ids=case_name)
def test_a_scalar_that_the_two_builds_read_differently_is_marked(row):
    assert [each.odd_scalars for each in manifests.read_file(raw_of(row))] == [("/spec/tools/0/arguments/v",)]


def test_the_contracts_digest_samples_come_out():
    clock = manifests.read_file(CLOCK.encode())[0]
    assert clock.digest == "744905571f953eae9dcedf3e40f2977eef41ca19f218e0f7e2435330a259399d"
    samples = {row["name"]: row for row in ROWS if row["name"].startswith("sample:")}
    digests = {manifests.read_file(raw_of(row))[0].digest for row in samples.values()}
    assert digests == {
        "9fcb26b5f659cb46cc11332a041333a7a32ff8505e1ba735160d0bdd87798a1b",
        "68ac9fb7315e46df0d6c6c01d4cbe13fbc585bb7b078ac670b12fd09b8052458",
    }


def test_a_refusal_names_the_place_as_a_pointer_and_the_document():
    refusal = refused(CLOCK + "---\n" + CLOCK.replace("clock-reader", "b").replace("mutates: false", "mutates: no"))
    assert (refusal.code, refusal.place, refusal.details) == (
        "manifest_structure",
        "/spec/tools/0/mutates",
        {"document": 2},
    )


def test_offered_order_is_kept_and_an_unnamed_grant_comes_last():
    both = manifests.read_file(CLOCK.replace("[{", "[{ref: tool://z/z, mutates: false}, {").encode())[0]
    assert [grant.reference for grant in both.grants] == ["tool://z/z", "tool://clock/now"]
    clock = manifests.read_file(CLOCK.encode())[0]
    assembled = manifests.assemble(clock.agent, both.grants)
    assert [grant.reference for grant in assembled.grants] == ["tool://clock/now", "tool://z/z"]


@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1.e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1_000", 1000),
        ("+5", 5),
        ("0x1F", 31),
        ("-0x1", -1),
        ("0o17", 15),
        ("0b11", 3),
        ("017", 17.0),
        ("089", 89.0),
        ("1e", "1e"),
        ("1__0", "1__0"),
        ("1_", "1_"),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("n", "n"),
        ("True", True),
        ("FALSE", False),
        ("", None),
        ("~", None),
        ("Null", None),
        ("tRue", True),
        ("nULL", None),
        ("0O17", 15),
        ("0X1f", 31),
        ("0B11", 3),
        (".5e3", 500.0),
        ("5.e3", 5000.0),
        ("0.1e1", 1.0),
        ("+.5", 0.5),
        ("-.5", -0.5),
        ("08", 8.0),
        ("+0o7", 7),
        ("-0o7", -7),
        ("18446744073709551616", 18446744073709552000.0),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_a_plain_scalar_means_what_agentplane_reads_in_it(written, meaning):
    (document,) = yaml_values.read_documents(f"v: {written}\n".encode())
    assert canonical.text(document.value) == canonical.text({"v": meaning})


@pytest.mark.parametrize("written", ["1e400", ".inf", "-.INF", ".nan", ".iNF", "0x1_F", "1_0.5", "0" + "x" + "f" * 100])
def test_a_scalar_that_no_reader_or_not_every_reader_takes_for_a_number_is_refused(written):
    with pytest.raises(Refusal) as caught:
        list(yaml_values.read_documents(f"v: {written}\n".encode()))
    assert caught.value.code == "manifest_yaml"
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        ('v:\n  w: "a\n   b"', "a b"),
        ("v:\n  w: 'a\n'", "a "),
        ("v:\n  w: 'a\n''b'", "a 'b"),
        ('v:\n  w: "a\\\n b"', "ab"),
        ("v:\n  w: ['a\nb']", ["a b"]),
        ("v:\n  w: 'a\n\n   b'", "a\nb"),
        ("v:\n  w: [-a, -1]", ["-a", -1]),
    ],
)
def test_a_text_over_several_lines_means_what_agentplane_reads_in_it(written, meaning):
    (document,) = yaml_values.read_documents(written.encode())
    assert document.value == {"v": {"w": meaning}}


@pytest.mark.parametrize(
    "written",
    [
        'v:\n  w: "a\n  b"',
        "v:\n  w: 'a\n b'",
        "v:\n  - 'a\n  b'",
        "v:\n  w: 'a\n\t\n   b'",
        "v:\n  w: ['a\n\tb']",
        'v:\n  w: "a\\\n \tb"',
        "v: [-]",
        "v: [-, a]",
    ],
)
def test_a_line_that_agentplane_cannot_place_is_refused(written):
    with pytest.raises(Refusal) as caught:
        list(yaml_values.read_documents(written.encode()))
    assert (caught.value.code, caught.value.place[:5]) == ("manifest_yaml", "line ")


def multiplied(levels):
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(multiplied(12), id="aliases that multiply"),
        pytest.param(b"a: &a [*a]", id="a collection that holds itself"),
        pytest.param(b"a: " + b"[" * 100_000, id="lists in lists"),
        pytest.param(b'{"a":' * 50_000, id="JSON objects in objects"),
        pytest.param(b"".join(b" " * depth + b"a:\n" for depth in range(400)), id="mappings in mappings"),
        pytest.param(b"- a\n" * 130_000, id="very many nodes"),
        pytest.param(b"".join(b"- &a%d x\n" % n for n in range(30_000)), id="very many anchors"),
        pytest.param(b"---\n" * 100_000, id="very many documents"),
        pytest.param(b"a: x\n" * 2_000_000, id="a huge file"),
        pytest.param(b'{"' + b"k" * 4_000 + b'": 1}', id="a huge key"),
        pytest.param(b"a: " + b"9" * 400_000, id="a huge number"),
    ],
)
def test_what_would_eat_time_or_memory_is_refused_early(raw):
    refusal = refused(raw)
    assert refusal.code == "manifest_yaml"
    assert len(refusal.message) < 400


def test_a_prompt_full_of_half_references_is_read_in_one_pass():
    prompt = "tool://" * 50_000
    raw = CLOCK.replace("spec:\n", f"spec:\n  identity: {{role: '{prompt}'}}\n")
    assert manifests.read_file(raw.encode())[0].name == "clock-reader"


def test_a_content_pattern_that_explodes_is_refused():
    rule = "{id: a, match: {pattern: '((((a{1,99}){1,99}){1,99}){1,99})'}, at: {admission: true}, then: refuse}"
    raw = CLOCK.replace("spec:\n", f"spec:\n  security: {{content: {{rules: [{rule}]}}}}\n")
    assert refused(raw).code == "manifest_content"


def test_a_huge_menu_is_looked_through_once():
    menu = ", ".join(str(n) for n in range(8_000))
    raw = CLOCK.replace("mutates: false", f"mutates: false, protected_fields: [{{path: /a, one_of: [{menu}]}}]")
    assert len(manifests.read_file(raw.encode())[0].grants[0].protected_fields[0].one_of) == 8_000
