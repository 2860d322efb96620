"""What finished issues and old runs left, and the repositories kept quick."""
