"""`validate.podSecurity`: the Pod Security Standards as Kyverno 1.19 checks them."""

from chartkit.engine.cluster_policy.podsecurity.rule import PodSecurityHandler

__all__ = ["PodSecurityHandler"]
