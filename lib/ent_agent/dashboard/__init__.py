"""`invoke dashboard`: tasks, runs, what they printed and what they cost, on pages that change nothing."""
