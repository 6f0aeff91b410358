from __future__ import annotations

import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from salvor_admin.domain.providers.aliases import stable_alias


def test_two_names_that_share_their_first_60_characters_stay_apart() -> None:
    beginning = "n" * 60
    one, other = stable_alias("files", f"{beginning}_read_it"), stable_alias("files", f"{beginning}_write_it")
    assert one != other
    assert one[:40] == other[:40]


def test_the_same_tool_of_two_servers_gets_two_aliases() -> None:
    assert stable_alias("a", "x" * 80) != stable_alias("b", "x" * 80)


def test_an_alias_is_the_same_in_another_process() -> None:
    script = "from salvor_admin.domain.providers.aliases import stable_alias; print(stable_alias('files', 'n' * 90))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == stable_alias("files", "n" * 90)


@given(server=st.text(), name=st.text())
def test_every_alias_is_a_name_that_every_provider_takes(server: str, name: str) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", stable_alias(server, name))
