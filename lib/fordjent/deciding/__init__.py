"""What an event means: a pure decision over an event and what is known."""
