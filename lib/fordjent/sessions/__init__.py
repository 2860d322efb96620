"""A session per issue or pull request: from what came in to what came of it."""
