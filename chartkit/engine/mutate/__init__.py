"""Mutation: strategic merge, JSON patches, foreach and existing targets, as in Kyverno 1.19."""

from chartkit.engine.mutate.patch_text import patch_problem
from chartkit.engine.mutate.rule import compile_mutate

__all__ = ["compile_mutate", "patch_problem"]
