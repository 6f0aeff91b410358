"""Agents and graphs that the server itself would run: there are none here, and each route says so."""

from __future__ import annotations

from django.http import HttpResponseBase

from salvor_admin.domain.refusals import Refusal
from salvor_admin.ledger import scenes, selectors
from salvor_admin.wire import bodies, callers, responses
from salvor_admin.wire.requests import WireRequest


def list_agents(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    return responses.answer('{"agents":[]}')


def list_graphs(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    return responses.answer('{"graphs":[]}')


def read_agent(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    raise _unknown_agent()


def read_graph(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    raise _unknown_graph()


def register_agent(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    raise Refusal(
        "bad_request",
        "This server runs no agents, so it takes no definitions. Drive the run yourself from POST /v1/client-runs.",
    )


def submit_graph(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    bodies.document(_body(request))
    raise Refusal(
        "invalid_graph",
        "This server runs no graphs, so it takes none. Drive the run yourself from POST /v1/client-runs.",
    )


def start_agent(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    bodies.started_agent(_body(request))
    raise _unknown_agent()


def start_graph(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    bodies.started_graph(_body(request))
    raise _unknown_graph()


def graph_of_run(request: WireRequest) -> HttpResponseBase:
    """A run's graph, its forks, or a new fork: a client-driven run has none."""
    caller = callers.known(request)
    if request.run_id is None:
        raise scenes.bad_run_id()
    selectors.run(caller.workspace_id, request.run_id)
    raise _unknown_graph()


def _body(request: WireRequest) -> bytes:
    raw, too_large = request.body()
    if too_large is not None:
        raise too_large
    return raw


def _unknown_agent() -> Refusal:
    return Refusal("unknown_agent", "This server runs no agents. Drive the run yourself from POST /v1/client-runs.")


def _unknown_graph() -> Refusal:
    return Refusal("unknown_graph", "This server runs no graphs. Drive the run yourself from POST /v1/client-runs.")
