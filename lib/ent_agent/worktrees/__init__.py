"""The branch of an issue, checked out in a folder of its own, in whatever state that is found."""
