"""Helm behind one door: the library in a child process, or the `helm` program.

`door` checks a chart and gives Helm a copy of it; `library` and `program` are equal backends;
`choice` picks one. Whatever Helm or a check refuses is a RenderError.
"""

from chartkit.helm.choice import close, helm, start, stop
from chartkit.helm.model import ChartError, DryRun, Finding, Helm, Target

__all__ = ["ChartError", "DryRun", "Finding", "Helm", "Target", "close", "helm", "start", "stop"]
