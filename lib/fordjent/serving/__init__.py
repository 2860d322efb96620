"""The process: HTTP, worker, timers, and how they start and stop."""
