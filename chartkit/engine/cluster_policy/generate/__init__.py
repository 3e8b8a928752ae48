"""Generate rules: which objects Kyverno would create for a request."""

from chartkit.engine.cluster_policy.generate.rule import compile_generate

__all__ = ["compile_generate"]
