"""Tasks (invoke): wiring only."""
