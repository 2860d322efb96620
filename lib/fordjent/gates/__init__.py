"""What a pull request must pass before it is opened, and merging."""
