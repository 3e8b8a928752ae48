"""The policies whose rules are CEL: Kyverno's policies.kyverno.io and Kubernetes' own."""
