"""One module per change, named by its number."""
