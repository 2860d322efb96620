"""Worktrees in which an agent may do anything, and from which nothing that it plants runs outside."""
