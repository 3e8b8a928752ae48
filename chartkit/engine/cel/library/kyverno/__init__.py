"""Kyverno's own functions, as version 1.19 has them: one library a module."""
