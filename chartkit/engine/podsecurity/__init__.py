"""`validate.podSecurity`: the Pod Security Standards as Kyverno 1.19 checks them."""

from chartkit.engine.podsecurity.rule import compile_pod_security

__all__ = ["compile_pod_security"]
