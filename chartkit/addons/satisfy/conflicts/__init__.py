"""Rules that cannot be kept together, and mutations that do not settle."""
