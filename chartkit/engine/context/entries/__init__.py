"""Context entries of rules and foreach blocks, compiled once and loaded when they are named."""

from chartkit.engine.context.entries.compiled import ContextEntries, check_entries, compile_entries

__all__ = ["ContextEntries", "check_entries", "compile_entries"]
