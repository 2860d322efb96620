"""What an agent can do: one typed tool each, bound to its session."""
