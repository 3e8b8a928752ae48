"""What a scan does not need, it does not load."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import chartkit.scan.pipeline, chartkit.scan.policies, chartkit.scan.run
import chartkit.scan.user_inputs, chartkit.testing.runner
from chartkit.documents.reader import read_text, resources
compiled = chartkit.scan.policies.compile_all(resources(read_text(sys.argv[1])))
assert compiled.policies, compiled.diagnostics
print(sys.argv[2] in sys.modules)
"""
PATTERN = "{pattern: {spec: {hostIPC: false}}}"
RULE = "{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: %s}"
POLICY = (
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [%s]}}"
)


def loads(module: str, validate: str) -> str:
    """Return whether a policy's compilation loads a module, as printed."""
    command = [sys.executable, "-c", SCRIPT, POLICY % (RULE % validate), module]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_cel_is_loaded_when_a_policy_needs_it() -> None:
    assert loads("chartkit.engine.cel", PATTERN) == "False"
    assert loads("chartkit.engine.cel", "{cel: {expressions: [{expression: 'true'}]}}") == "True"


def test_the_client_of_registries_is_loaded_when_one_is_asked() -> None:
    assert loads("chartkit.network.registry.client", PATTERN) == "False"
