"""The chart `kyverno`: the engine, its values, its alert rules and dashboard."""
