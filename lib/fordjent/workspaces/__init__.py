"""A forge repository's two repositories here, and a worktree per session."""
