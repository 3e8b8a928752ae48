"""The command line: parses, calls, reports."""
