"""What the launcher says when it cannot."""


class EngineError(Exception):
    """An engine cannot be started or stopped; the message says what, why and what next, in one line."""
