"""Everybody of the cast has an address, and nothing that was told before the test is left."""

from __future__ import annotations

import pytest

from tests.delivery.factories import with_addresses
from tests.people.factories import Cast


@pytest.fixture
def reachable(cast: Cast) -> Cast:
    with_addresses(cast)
    return cast
