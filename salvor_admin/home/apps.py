"""What the first page and the frame bring together."""

from __future__ import annotations

from django.apps import AppConfig


class HomeConfig(AppConfig):
    name = "salvor_admin.home"

    def ready(self) -> None:
        from salvor_admin.home import document_sections, places

        places.register()
        document_sections.register()
