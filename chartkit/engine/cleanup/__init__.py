"""Deletions by Kyverno's cleanup controller: cleanup policies and the TTL label."""

from chartkit.engine.cleanup.policy import (
    Cleaner,
    CleanupPolicy,
    Deletion,
    plan_deletions,
    read_cleanup_policy,
)

__all__ = ["Cleaner", "CleanupPolicy", "Deletion", "plan_deletions", "read_cleanup_policy"]
