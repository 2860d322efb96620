"""The agent loop: a model and tools taking turns over a stored history."""
