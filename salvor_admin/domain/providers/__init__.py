"""How each model provider is told about tools, and how its answers are read (agentplane contract 3 and 4)."""
