"""The two repositories of an agent, its key, and all talk with origin."""
