"""The parts of converted expressions: typed places, verdicts of patterns, wildcards, names."""
