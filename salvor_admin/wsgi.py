"""What the web server calls."""

import os
import threading

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "salvor_admin.settings")

whole = get_wsgi_application()

from salvor_admin.domain import schema_formats  # noqa: E402
from salvor_admin.wire.lean import LeanApplication  # noqa: E402

application = LeanApplication(whole)

# Beside the first requests, so that none of them waits for it.
threading.Thread(target=schema_formats.load, name="schema-formats", daemon=True).start()
