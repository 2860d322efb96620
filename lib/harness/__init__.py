"""What both systems stand on: processes, git, locks, configuration, agents, redaction."""

__version__ = "0.1.0"
