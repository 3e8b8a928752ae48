"""The runner of Kyverno's own test files (`kyverno-test.yaml`) on the bundled engine."""
