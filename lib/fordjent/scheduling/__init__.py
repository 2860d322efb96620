"""What issues wait for: dependencies, empty repositories, parents; and failed runs, tried again."""
