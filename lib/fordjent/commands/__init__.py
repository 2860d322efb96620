"""One module per executable in bin/."""
