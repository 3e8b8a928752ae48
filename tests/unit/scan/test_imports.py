"""What a scan does not need, it does not load."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import chartkit.scan.policies, chartkit.scan.run, chartkit.scan.user_inputs, chartkit.testing.runner
from chartkit.documents.reader import read_text, resources
compiled = chartkit.scan.policies.compile_all(resources(read_text(sys.argv[1])))
assert compiled.policies, compiled.diagnostics
print("chartkit.engine.cel" in sys.modules)
"""
RULE = "{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: %s}"
POLICY = (
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [%s]}}"
)


def loads_cel(validate: str) -> str:
    """Whether a policy's compilation loads CEL, as printed."""
    command = [sys.executable, "-c", SCRIPT, POLICY % (RULE % validate)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_cel_is_loaded_when_a_policy_needs_it() -> None:
    assert loads_cel("{pattern: {spec: {hostIPC: false}}}") == "False"
    assert loads_cel("{cel: {expressions: [{expression: 'true'}]}}") == "True"
