"""Views of `/api`, one file a noun: parse, call, present."""
