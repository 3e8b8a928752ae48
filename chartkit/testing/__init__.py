"""Runs Kyverno's own test files (`kyverno-test.yaml`) through the bundled engine."""
