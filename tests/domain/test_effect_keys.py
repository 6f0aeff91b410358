"""Effect keys (contract 2.4)."""

from __future__ import annotations

import pytest

from salvor_admin.domain import canonical, declarations, effect_keys, grants, strict_json, tool_ids
from salvor_admin.domain.declarations import CacheTtl
from salvor_admin.domain.effect_keys import Exchange, Phase, Position
from tests.domain.agentplane_vectors import case_name, cases

ROWS = [row for row in cases("effect_keys") if "key" in row]
KEY_OF = {row["name"]: row["key"] for row in ROWS}


def read(text):
    return strict_json.read(text.encode())


def position_of(row):
    where = row["position"]
    phase = Phase.FORWARD if where["phase"] == "forward" else Phase.COMPENSATING
    return Position(step=where["step"], ordinal=where["ordinal"], attempt=where["attempt"], phase=phase)


def offer_of(tool):
    parameters = read(tool["parameters_text"])
    offer = declarations.offering(
        tool_ids.parse(tool.get("offering") or tool["tool"]), tool["description"], parameters
    ).named(tool.get("named") or tool.get("name") or tool_ids.parse(tool["offering"]).wire_name)
    if "cache" in tool:
        offer = offer.cache_breakpoint(CacheTtl(tool["cache"]))
    return offer


def model_call_of(row):
    options = {name: row[name] for name in ("max_output_tokens", "reasoning_effort") if name in row}
    if "continuation" in row:
        options["continuation"] = {
            "provider": row["continuation"]["provider"],
            "state": read(row["continuation"]["state_text"]),
        }
    return effect_keys.model_call(
        provider=row["provider"],
        model=row["model"],
        prompt=read(row["prompt_text"]),
        offers=[offer_of(tool) for tool in row["tools"]],
        # The driver writes its own profile; it is taken as recorded.
        provider_profile=read(row["args_text"])["provider_profile"],
        exchanges=[
            Exchange(each["id"], each["name"], read(each["arguments_text"]), read(each["output_text"]), each["failed"])
            for each in row.get("exchanges", ())
        ],
        told=row.get("person_turns", ()),
        **options,
    )


def tool_call_of(row):
    fields = [
        grants.read_grant({"ref": row["tool"], "protected_fields": [field]}).protected_fields[0]
        for field in row["catalogue"].get("protected_fields", ())
    ]
    return effect_keys.tool_call(tool_ids.parse(row["tool"]), read(row["arguments_text"]), fields)


@pytest.mark.parametrize("row", ROWS, ids=case_name)
def test_a_recorded_effect_has_the_recorded_arguments_and_key(row):
    arguments = model_call_of(row) if row["kind"] == "model.complete" else tool_call_of(row)
    assert canonical.rfc8785(arguments) == row["args_text"]
    assert effect_keys.effect_key(row["kind"], arguments, position_of(row)) == row["key"]


@pytest.mark.parametrize("row", [row for row in ROWS if "compared_with" in row], ids=case_name)
def test_two_recorded_effects_share_a_key_only_where_that_was_recorded(row):
    assert (row["key"] == KEY_OF[row["compared_with"]]) is row["same_key"]


def test_the_keys_of_a_recorded_run_follow_from_its_arguments():
    (run,) = [row for row in cases("effect_keys") if "key" not in row]
    for effect in run["effects"]:
        assert effect_keys.effect_key(effect["kind"], read(effect["args_text"]), position_of(effect)) == effect["key"]


def test_the_contracts_check_vector_comes_out():
    arguments = {"server": "catalogue", "tool": "search", "arguments": {"limit": 5, "text": "maps"}}
    key = effect_keys.effect_key("tool.call", {**arguments, "protected_fields": []}, Position(ordinal=1))
    assert key == "2dd72075658d7c096421b6c1777481d703642e0a0086c8b001ff91b3ded890e5"
