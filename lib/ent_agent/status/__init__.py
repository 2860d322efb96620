"""Where everything stands, for people and programs."""
