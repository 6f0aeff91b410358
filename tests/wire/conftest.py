"""A runtime that drives, `refund_card` live, and a settler's token."""

from __future__ import annotations

from datetime import timedelta

import pytest

from salvor_admin.people import services as people
from salvor_admin.people.models import Workspace
from tests.people.factories import Cast
from tests.settlement.factories import a_tool
from tests.wire.peer import Driven, Peer, a_peer


@pytest.fixture
def refund_card(cast: Cast) -> str:
    a_tool(cast)
    return "refund_card"


@pytest.fixture
def peer(workspace: Workspace) -> Peer:
    return a_peer(workspace)


@pytest.fixture
def run(peer: Peer) -> Driven:
    return peer.run()


@pytest.fixture
def noors(cast: Cast) -> Peer:
    """Noor's own token, which decides."""
    noor = cast.actor("noor")
    made = people.create_personal_token(person=noor.person, scope="decide", lives=timedelta(hours=1), actor=noor)
    return Peer(made.token)
