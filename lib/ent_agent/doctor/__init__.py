"""What may keep the loop from working unattended, each with the command that mends it."""
