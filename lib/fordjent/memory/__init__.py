"""What is left of sessions: their memory on this disk, notes on their commits, and summaries in the repository."""
