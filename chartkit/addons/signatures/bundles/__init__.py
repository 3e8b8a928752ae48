"""Sigstore bundles: read, verified with sigstore's own parts, and found beside an image."""

from __future__ import annotations

from chartkit.addons.signatures.bundles.attestors import (
    BundleRequirements,
    find_bundles,
    verify_bundles,
    verify_cluster_policy,
)

__all__ = ["BundleRequirements", "find_bundles", "verify_bundles", "verify_cluster_policy"]
