"""Shapes of `/api`: what comes in and what goes out, one class a direction, one file a noun."""
