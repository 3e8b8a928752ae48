"""`validate.manifests`: who signed a manifest, and whether the object is what was signed."""

from __future__ import annotations

from chartkit.engine.cluster_policy.manifests.rule import compile_manifests

__all__ = ["compile_manifests"]
