"""How much may be sent as files at once; looked at before the first byte is read."""

from __future__ import annotations

from typing import IO

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler


class Bounded(FileUploadHandler):
    """Refuses a form with files that is larger than the settings allow; who is not signed in has no files to send."""

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, str],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        user = getattr(self.request, "user", None)
        is_known = user is not None and user.is_authenticated
        if content_length > (settings.MOST_UPLOADED if is_known else settings.DATA_UPLOAD_MAX_MEMORY_SIZE):
            raise RequestDataTooBig("More was sent than is taken at once.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
