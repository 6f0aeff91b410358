"""Whatever fits the description, and what almost does, is answered or refused: never a mistake of ours."""

from __future__ import annotations

import json
import warnings
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from salvor_admin.api.schema import document
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from tests.api.callers import Caller, as_person, as_runtime, told
from tests.people.factories import Cast
from tests.reviews.factories import a_submitted_change
from tests.runtimes.factories import a_runtime
from tests.settlement.factories import a_tool, a_waiting_call

pytestmark = pytest.mark.django_db

OPERATIONS = [(path, method) for path, methods in document()["paths"].items() for method in methods]
ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.lists(st.none(), max_size=2))


@pytest.fixture(scope="module")
def described() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return schemathesis.openapi.from_dict(document())


@pytest.fixture
def caller(cast: Cast) -> Caller:
    """Somebody who may everything, so that rights stop nothing that is sent."""
    cast.roles = {**cast.roles, "everyone": ["author", "reviewer", "publisher", "settler"]}
    return as_person(cast.actor("everyone"))


@pytest.fixture
def real(cast: Cast, workspace: Workspace) -> dict[str, list[str]]:
    """Ids that exist, by the first part of the address."""
    a_tool(cast)
    request = a_submitted_change(author=cast.actor("ada"), name="wire_payout")
    calls = [a_waiting_call(cast, input={"order_id": f"ORD-{n}", "amount_cents": 5}) for n in range(2)]
    return {
        "change-requests": [str(request.pk)],
        "calls": [str(call.pk) for call in calls],
        "documents": [str(request.items.get().document_id)],
    }


def address(case: Any, real: list[str], pick: int, odd: bool) -> str:
    parameters = dict(case.path_parameters or {})
    if "id" in parameters and real and not odd:
        parameters["id"] = real[pick % len(real)]
    if "kind" in parameters and not odd:
        parameters["kind"] = "client_tool"
    path = case.path
    for name, value in parameters.items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    query = urlencode({name: value for name, value in (case.query or {}).items() if value is not None}, doseq=True)
    return f"{path}?{query}" if query else path


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_nothing_that_is_sent_breaks_it(
    described: Any, caller: Caller, real: dict[str, list[str]], root: Actor, path: str, method: str
) -> None:
    operation = described[path][method]
    runtime = as_runtime(a_runtime(admin=root, name="asker"))
    known = real.get(path.split("/")[2], [])

    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        pick=st.integers(0, 3),
        odd=st.booleans(),
        spoilt=st.dictionaries(st.sampled_from(["reason", "digest", "items", "body", "output", "x"]), ODD, max_size=1),
    )
    def send(case: Any, pick: int, odd: bool, spoilt: dict[str, Any]) -> None:
        at = address(case, known, pick, odd)
        if method == "get":
            for reader in (caller, runtime):
                judge(reader.get(at))
            return
        body = case.body if isinstance(case.body, dict) else {}
        judge(caller.post(at, raw=json.dumps({**body, **spoilt} if odd else body).encode()))

    send()


def judge(response: Any) -> None:
    if response.status_code >= 400:
        status, _ = told(response)
        assert status < 500
    else:
        assert response.status_code in {200, 201}
