"""The chart `kyverno-policies`: policies as templates, its values and their schema."""
