"""Mutation: strategic merge, JSON patches, foreach and existing targets, as in Kyverno 1.19."""

from chartkit.engine.cluster_policy.mutate.json_patch import patch_problem
from chartkit.engine.cluster_policy.mutate.rule import compile_mutate, compile_mutate_existing

__all__ = ["compile_mutate", "compile_mutate_existing", "patch_problem"]
