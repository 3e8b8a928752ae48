"""Expressions that were checked, made into programs: exact closures, and generated Python."""
