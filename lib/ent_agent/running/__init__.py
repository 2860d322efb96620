"""Running the agent: what it is told, what stands around it, what it uses."""
