"""Declarations as calls are judged by them, kept per process: a publication and a revision never change."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.db.models import FilteredRelation, Q

from salvor_admin.domain import canonical, client_tools, strict_json
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.review import Kind
from salvor_admin.people.models import Workspace
from salvor_admin.reviews.models import Revision

MOST_PUBLICATIONS: Final = 64
MOST_REVISIONS: Final = 2048


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool, and the revision that declares it."""

    tool: ClientTool
    revision_id: int


@dataclass(frozen=True, slots=True)
class LiveTools:
    """The client tools of one publication, by name; `listing` is the text of `GET /v1/client-tools`."""

    publication: int
    by_name: Mapping[str, Declared]
    listing: str


_live: OrderedDict[tuple[int, int], LiveTools] = OrderedDict()
_newest: dict[int, LiveTools] = {}


def live_tools(workspace_id: int, publication: int) -> LiveTools:
    """The live tools at this publication, or at a newer one that went live meanwhile."""
    known = _live.get((workspace_id, publication))
    if known is not None:
        return known
    loaded = _load(workspace_id)
    _live[workspace_id, loaded.publication] = _newest[workspace_id] = loaded
    while len(_live) > MOST_PUBLICATIONS:
        (old_workspace, _), old = _live.popitem(last=False)
        if _newest.get(old_workspace) is old:
            del _newest[old_workspace]
    return loaded


def newest_known(workspace_id: int | None) -> LiveTools | None:
    """What this process last saw live; a guess, to be held against what the database says."""
    return None if workspace_id is None else _newest.get(workspace_id)


@lru_cache(maxsize=MOST_REVISIONS)
def tool_of(revision_id: int) -> ClientTool:
    """The tool that a revision declares."""
    return _read(Revision.objects.values_list("body", flat=True).get(pk=revision_id))


def live_declaration(workspace_id: int, name: str) -> Declared | None:
    """What is live now under this name, read from the database."""
    return _load(workspace_id).by_name.get(name)


def _read(body: str) -> ClientTool:
    return client_tools.from_document(strict_json.read(body.encode(), max_depth=500))


def _load(workspace_id: int) -> LiveTools:
    # One statement, so that the number and what is served at it belong together.
    rows = (
        Workspace.objects.filter(pk=workspace_id)
        .annotate(
            live=FilteredRelation(
                "documents",
                condition=Q(documents__kind=Kind.CLIENT_TOOL.value),
            )
        )
        .values_list("last_publication", "live__live_revision_id", "live__live_revision__body")
    )
    found = list(rows)
    declared = [Declared(_read(body), revision_id) for _, revision_id, body in found if revision_id is not None]
    declared.sort(key=lambda one: one.tool.name.encode())
    entries = ",".join(canonical.text(client_tools.listing_entry(one.tool)) for one in declared)
    return LiveTools(found[0][0], {one.tool.name: one for one in declared}, f'{{"client_tools":[{entries}]}}')


# --- what lists show of a call ---------------------------------------------------------------------------------------

MOST_SHOWN: Final = 200
#: Lists show the first of them, and search finds these; all of them together would outgrow what the index takes.
MOST_FIELDS: Final = 50


def subject(tool: ClientTool, input: strict_json.Json) -> str:
    """The call's pinned, then identity fields as [name, canonical text] pairs; long values and long lists are cut."""
    if not isinstance(input, dict):
        return "[]"
    names = dict.fromkeys((*tool.require_equal, *tool.idempotency_key))
    given = [name for name in names if name in input][:MOST_FIELDS]
    pairs = [[name, _cut(canonical.text(input[name]))] for name in given]
    return json.dumps(pairs, ensure_ascii=False, separators=(",", ":"))


def likeness(tool: ClientTool, input: strict_json.Json) -> bytes | None:
    """What likely duplicates share: the tool and its identity fields, else its pinned ones, whatever the run."""
    names = tool.idempotency_key or tool.require_equal
    if not names or not isinstance(input, dict):
        return None
    fields = {name: input.get(name) for name in names}
    digest = canonical.digest(canonical.text({"fields": fields, "tool": tool.name}))
    return bytes.fromhex(digest.removeprefix("sha256:"))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
