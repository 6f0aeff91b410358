"""Pure rules: no Django, no clock, no randomness, no I/O."""
