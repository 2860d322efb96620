"""What webhooks missed: the forge's lists against what was handled, every few minutes."""
