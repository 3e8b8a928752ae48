"""Commands about reports: those that are stored, and the schemas of all."""
