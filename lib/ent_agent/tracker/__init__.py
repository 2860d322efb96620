"""Entomologist's issues on a git branch: read, write, merge, sync and guard, without a checkout."""
