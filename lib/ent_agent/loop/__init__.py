"""The outer loop over the commands, what it says, and how cron starts it."""
