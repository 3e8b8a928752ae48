"""Rules for expressions, and for the templates that they stand in."""
