"""The tools of a session for agent CLIs that speak the Model Context Protocol."""
