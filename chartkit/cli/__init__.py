"""The command line: parses, calls, reports."""

from chartkit.cli.main import main

__all__ = ["main"]
