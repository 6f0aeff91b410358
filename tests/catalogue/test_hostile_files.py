"""Files made to eat time or memory: each command ends with a decision or a coded refusal, in little of both."""

from __future__ import annotations

import functools
import io
import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

MOST_MEMORY = 200 * 1024  # kilobytes, as the system counts them
HANGS_AFTER = 30  # seconds of processor time; all of these need about one, but a machine may be busy

BUNDLE = {"trust": "untrusted", "sensitivity": "internal", "provenance": ["model:p/m"]}
FAN = {f"D{at}": {"anyOf": [{"$ref": f"#/$defs/D{at + 1}"}] * 2} for at in range(60)} | {"D60": {"type": "string"}}
EXPLODES = "((((a{1,99}){1,99}){1,99}){1,99})"


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def nested(times: int, wrap: Any, innermost: Any) -> Any:
    return functools.reduce(lambda inner, _: wrap(inner), range(times), innermost)


def manifest(*grants: Any) -> str:
    spec = {
        "execution": {"kind": "tool-calling"},
        "models": {"privileged": {"provider": "p", "model": "m"}},
        "security": {"max_sensitivity_egress": "internal"},
        "tools": list(grants),
        "budgets": {},
    }
    head = {"apiVersion": "agentplane.hupe1980.github.io/v1alpha1", "kind": "Agent"}
    return json.dumps({**head, "metadata": {"name": "a", "version": "1"}, "spec": spec})


def grant(at: int = 0, **members: Any) -> dict[str, Any]:
    return {"ref": f"tool://s/t{at}", "mutates": False, "description": "d", "max_sensitivity": "internal", **members}


def fields(count: int) -> list[dict[str, Any]]:
    return [{"path": f"/a{at}", "one_of": [1]} for at in range(count)]


def patterns(count: int) -> dict[str, Any]:
    return {f"a{at}": {"type": "string", "pattern": rf"\p{{L}}{{1,200}}{at}"} for at in range(count)}


def case(value: Any, *protected: Any, **label: Any) -> str:
    terms = {"ref": "tool://a/b", "max_sensitivity": "internal", "protected_fields": list(protected)}
    arguments = {"value": value, "label": {**BUNDLE, **label}}
    return json.dumps({"tool": "tool://a/b", "grant": terms, "agent": {}, "arguments": arguments})


def listing(*tools: Any) -> str:
    return json.dumps({"tools": list(tools)})


def tool(at: int = 0, schema: Any = None) -> dict[str, Any]:
    return {"name": f"t{at}", "description": "d", "inputSchema": {"type": "object"} if schema is None else schema}


def offer(*schemas: Any) -> str:
    tools = [
        {"name": f"t{at}", "description": "d", "parameters_text": json.dumps(schema)}
        for at, schema in enumerate(schemas)
    ]
    return json.dumps(tools)


SOURCES = [f"tool://x/{at}" for at in range(50_000)]
EMPTIES = "[" + "{}," * 1_200_000 + "{}]"

HOSTILE: dict[str, dict[str, Any]] = {
    "check_manifest": {
        "thousands of grants with sources": lambda: manifest(
            *(grant(at, protected_fields=[{"path": "/a", "allowed_sources": ["model:p/m"]}]) for at in range(4_000))
        ),
        "twenty thousand fields": lambda: manifest(grant(protected_fields=fields(20_000))),
        "ten thousand fields in a schema": lambda: manifest(
            grant(protected_fields=fields(10_000), arguments=closed(**{f"a{at}": {} for at in range(10_000)}))
        ),
        "definitions that fan out": lambda: manifest(
            grant(arguments={**closed(a={"$ref": "#/$defs/D0"}), "$defs": FAN})
        ),
        "many large patterns": lambda: manifest(grant(arguments=closed(**patterns(2_000)))),
        "many grants with a large pattern": lambda: manifest(
            *(grant(at, arguments=closed(a=patterns(at + 1)[f"a{at}"])) for at in range(300))
        ),
        "a pattern that explodes": lambda: manifest(grant(arguments=closed(a={"pattern": EXPLODES}))),
        "a file without end": lambda: " " * 5_000_000,
        "a long tag": lambda: f"- !<{'a' * 350_000}> x\n",
        "a long anchor": lambda: f"- &{'a' * 350_000} x\n- *{'b' * 20}\n",
        "lists in lists": lambda: "[" * 2_000_000,
    },
    "render_offer": {
        "definitions that fan out": lambda: offer({**closed(a={"$ref": "#/$defs/D0"}), "$defs": FAN}),
        "ten thousand tools": lambda: offer(*[closed()] * 10_000),
        "many empty values": lambda: json.dumps([{"name": "a", "description": "d", "parameters_text": EMPTIES}]),
        "many empty entries": lambda: EMPTIES,
        "a deep schema": lambda: offer(nested(60, lambda inner: closed(a=inner), closed())),
        "lists in lists": lambda: "[" * 4_000_000,
        "many large patterns": lambda: offer(closed(**patterns(2_000))),
    },
    "judge_call": {
        "many sources of many": lambda: case(
            {"a": 1}, {"path": "/a", "allowed_sources": SOURCES}, provenance=list(reversed(SOURCES))
        ),
        "a huge value and a long menu": lambda: case(
            {"a": "x" * 1_000_000}, {"path": "/a", "one_of": list(range(150_000))}
        ),
        "twenty thousand fields": lambda: case({f"a{at}": 1 for at in range(20_000)}, *fields(20_000)),
        "many empty values": lambda: '{"tool":"t","arguments":{"value":' + EMPTIES + "}}",
        "lists in lists": lambda: "[" * 4_000_000,
        "many labels of one source each": lambda: json.dumps(
            {
                "tool": "t",
                "arguments": {"array": [{"value": 1, "label": {"provenance": [f"m{at}"]}} for at in range(30_000)]},
            }
        ),
    },
    "check_listing": {
        "forty thousand tools": lambda: listing(*({"name": f"t{at}", "inputSchema": {}} for at in range(40_000))),
        "one name a thousand times": lambda: listing(*[tool()] * 1_000),
        "many large patterns": lambda: listing(tool(0, closed(**patterns(2_000)))),
        "many tools with a large pattern": lambda: listing(
            *(tool(at, closed(a=patterns(at + 1)[f"a{at}"])) for at in range(300))
        ),
        "definitions that fan out": lambda: listing(tool(0, {**closed(a={"$ref": "#/$defs/D0"}), "$defs": FAN})),
        "many empty values": lambda: '{"tools":' + EMPTIES + "}",
        "schemas in schemas": lambda: '{"tools":[{"name":"a","inputSchema":' + '{"not":' * 400_000,
        "every branch twice": lambda: listing(
            tool(0, closed(a=nested(12, lambda inner: {"anyOf": [inner, inner]}, {"type": "object"})))
        ),
    },
    "test_agent": {
        "aliases that multiply": lambda: (
            "agent: a\ncalls: [&a0 [1,1,1,1,1,1,1,1,1]"
            + "".join(f", &a{at} [{','.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 12))
            + "]"
        ),
        "a huge file": lambda: "agent: a\ncalls: [" + "x," * 2_000_000,
        "a path with a NUL": lambda: json.dumps({"agent": "a\0b", "calls": [CALL]}),
        "a long path": lambda: json.dumps({"agent": "a" * 100_000, "calls": [CALL]}),
        "a directory for a manifest": lambda: json.dumps({"agent": ".", "calls": [CALL]}),
        "arguments that cost too many steps": lambda: json.dumps({"agent": "fan.json", "calls": [CALL]}),
    },
}
CALL = {"name": "c", "tool": "s__t0", "arguments": {"a": 1}, "expect": "allow"}
WORDS = {"render_offer": ["--provider", "anthropic", "--as-reference"], "check_listing": ["--server", "crm"]}


@pytest.mark.parametrize(
    ("command", "make"),
    [
        pytest.param(command, make, id=f"{command}: {name}")
        for command, makers in HOSTILE.items()
        for name, make in makers.items()
    ],
)
def test_a_hostile_file_is_judged_or_refused_in_little_time_and_memory(command: str, make: Any, tmp_path: Path) -> None:
    (tmp_path / "fan.json").write_text(manifest(grant(arguments={**closed(a={"$ref": "#/$defs/D0"}), "$defs": FAN})))
    hostile = tmp_path / "hostile"
    hostile.write_text(make(), encoding="utf-8")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # so that neither a hang nor what was allocated before is ours
        os.close(reading)
        os.write(writing, _outcome(command, str(hostile)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as outcome:
        told = outcome.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"killed by signal {status}, after {HANGS_AFTER} seconds of work or without memory"
    ended, grown = told.split("\n")
    assert ended in ("judged", "refused")
    assert int(grown) < MOST_MEMORY


def _outcome(command: str, file: str) -> str:
    used = resource.getrusage(resource.RUSAGE_SELF)
    already = int(used.ru_utime + used.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (already + HANGS_AFTER, already + HANGS_AFTER))
    out = io.StringIO()
    words = WORDS.get(command, [])
    try:
        call_command(command, file, *words, "--format", "json", stdout=out, stderr=io.StringIO())
        ended = "judged"
    except CommandError:
        ended = "refused"
    except BaseException as error:
        ended = f"crashed: {error!r}"[:300].replace("\n", " ")
    if ended != "judged" or command != "render_offer":
        json.loads(out.getvalue())  # one document, whatever came of it
    return f"{ended}\n{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used.ru_maxrss}"
