"""TODO: say what this room is, and what it may import."""
