"""Every route of `/v1` in one table: its path below the prefix, and which view answers which method."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from django.http import HttpRequest, HttpResponseBase

from salvor_admin.domain.refusals import Refusal
from salvor_admin.ledger.scenes import UnknownToken
from salvor_admin.wire import absent, callers, driving, reading, responses
from salvor_admin.wire.requests import WireRequest

View: TypeAlias = Callable[[WireRequest], HttpResponseBase]

logger = logging.getLogger(__name__)

#: A segment in angle brackets stands for any one segment; `<run>` is handed to the view.
ROUTES: Final[Mapping[str, Mapping[str, View]]] = {
    "client-tools": {"GET": reading.client_tools},
    "client-runs": {"POST": driving.open_run},
    "client-runs/<run>/release": {"POST": driving.release},
    "client-runs/<run>/heartbeat": {"POST": driving.heartbeat},
    "client-runs/<run>/log": {"GET": driving.read_log},
    "client-runs/<run>/events": {"POST": driving.append_events},
    "client-runs/<run>/client-tool-intent": {"POST": driving.tool_intent},
    "client-runs/<run>/client-tool-completion": {"POST": driving.tool_completion},
    "client-runs/<run>/client-model-intent": {"POST": driving.model_intent},
    "client-runs/<run>/client-model-completion": {"POST": driving.model_completion},
    "client-runs/<run>/model-step": {"POST": driving.model_step},
    "client-runs/<run>/tool-step": {"POST": driving.tool_step},
    "client-runs/<run>/resolve": {"POST": driving.resolve},
    "runs": {"GET": reading.list_runs, "POST": absent.start_agent},
    "runs/<run>": {"GET": reading.read_run},
    "runs/<run>/replay": {"GET": reading.replay_run},
    "runs/<run>/events": {"GET": reading.stream_events},
    "runs/<run>/resolve": {"POST": reading.resolve_run},
    "runs/<run>/abandon": {"POST": reading.abandon_run},
    "runs/<run>/resume": {"POST": reading.resume_run},
    "runs/<run>/graph": {"GET": absent.graph_of_run},
    "runs/<run>/forks": {"GET": absent.graph_of_run},
    "runs/<run>/fork": {"POST": absent.graph_of_run},
    "capabilities": {"GET": reading.capabilities},
    "agents": {"GET": absent.list_agents, "POST": absent.register_agent},
    "agents/<agent>": {"GET": absent.read_agent},
    "graphs": {"GET": absent.list_graphs, "POST": absent.submit_graph},
    "graphs/validate": {"POST": absent.submit_graph},
    "graphs/<graph>": {"GET": absent.read_graph},
    "graph-runs": {"POST": absent.start_graph},
}

_BY_SHAPE: Final = {tuple("" if part[0] == "<" else part for part in path.split("/")): path for path in ROUTES}


def answer(http: HttpRequest, path: str) -> HttpResponseBase:
    """Answer a request below `/v1/`; whatever goes wrong carries the envelope."""
    parts = path.split("/")
    found = _BY_SHAPE.get(tuple(parts))
    run = None
    if found is None and len(parts) > 1 and parts[1]:
        found = _BY_SHAPE.get((parts[0], "", *parts[2:]))
        run = parts[1]
    try:
        return _answer(http, found, run)
    except Refusal as refusal:
        return responses.refuse(refusal)
    except Exception:
        logger.exception("%s %s failed", http.method, found)
        return responses.refuse(
            Refusal("internal", "Something went wrong here; it is in our log. Nothing of it is known to be written.")
        )


def _answer(http: HttpRequest, path: str | None, run: str | None) -> HttpResponseBase:
    if path is None:
        return _nowhere(http.method or "")
    request = WireRequest(http, run)
    views = ROUTES[path]
    method = http.method or ""
    view = views.get("GET" if method == "HEAD" else method)
    try:
        if view is None:
            callers.known(request)
            return _not_allowed(method, views)
        response = view(request)
    except UnknownToken as refusal:
        raise callers.refuse_person(request) or refusal from None
    return responses.without_body(response) if method == "HEAD" else response


def _nowhere(method: str) -> HttpResponseBase:
    """No such address: of a method that writes, the method is told of first (contract 6.19)."""
    is_reading = method in {"GET", "HEAD"}
    response = responses.refuse(
        Refusal(
            "unknown_path" if is_reading else "method_not_allowed",
            "There is no such address under /v1. Look at docs/wire.md for those there are.",
        )
    )
    if not is_reading:
        response["Allow"] = "GET,HEAD"
    return responses.without_body(response) if method == "HEAD" else response


def _not_allowed(method: str, views: Mapping[str, View]) -> HttpResponseBase:
    allowed = [*views, *(["HEAD"] if "GET" in views else [])]
    response = responses.refuse(
        Refusal("method_not_allowed", f"This address does not take {method[:20]}. It takes {', '.join(allowed)}.")
    )
    response["Allow"] = ",".join(allowed)
    return response
