"""chartkit: generate, check and prove Helm charts for Kyverno and its policies."""

__version__ = "0.9.0"
