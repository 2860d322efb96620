"""What both systems stand on: processes, git, locks, configuration, agents, redaction."""
