"""The parts of Kubernetes' own admission policies: expressions, bindings, parameters."""
