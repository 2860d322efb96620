"""Repositories of the forge on this disk, and a worktree for each session."""
