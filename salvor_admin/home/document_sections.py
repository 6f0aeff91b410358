"""What the page of a client tool shows beyond the review of it: who loaded it, how often it was called."""

from __future__ import annotations

from salvor_admin.catalogue.sections import Section, register_section
from salvor_admin.ledger import recent_calls
from salvor_admin.runtimes import loading


def register() -> None:
    """Registers the sections that later apps bring."""
    register_section(
        Section("loaded", 10, "runtimes/_loaded.html", lambda actor, document: loading.of_document(document))
    )
    register_section(
        Section(
            "calls",
            20,
            "ledger/_recent_calls.html",
            lambda actor, document: recent_calls.of_tool(actor.workspace_id, document.label),
        )
    )
