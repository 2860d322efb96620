"""Pages for people: templates, styles, plots, and who may look. No build step, nothing from outside."""
