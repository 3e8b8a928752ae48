"""The plan of a migration: what there is, what generated it, and what becomes of each rule."""
