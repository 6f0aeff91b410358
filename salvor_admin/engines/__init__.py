"""A private PostgreSQL and a private Valkey, started from their wheels.

Imports nothing of Django: the engines must stand before the settings load.
"""

from salvor_admin.engines.commands import for_command, serving
from salvor_admin.engines.errors import EngineError
from salvor_admin.engines.launcher import Engines, EngineUrls
from salvor_admin.engines.state import State

__all__ = ["EngineError", "EngineUrls", "Engines", "State", "for_command", "serving"]
