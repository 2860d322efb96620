"""What keeps a server running: set-up, doctor, reload, backup, pruning, units."""
