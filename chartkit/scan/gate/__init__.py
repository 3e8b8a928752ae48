"""The gate: which violations fail a run. It selects results, accepts those of a baseline and those
that an annotation suppresses, and counts the others."""
