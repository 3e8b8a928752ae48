"""A test of two policies, one that validates and one that mutates, in a folder."""

from pathlib import Path

from tests.data import beside

_TEXTS = beside(__file__)
POLICIES = _TEXTS["policies"]
OBJECTS = """\
apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: shop}
spec: {containers: [{name: a, image: b}]}
"""
PATCHED = _TEXTS["patched"]
ROWS = """\
policies: [policies.yaml]
resources: [objects.yaml]
results:
- {policy: require-owner, rule: owner, kind: Pod, resources: [bad], result: fail}
- {policy: add-label, rule: add, kind: Pod, result: pass, patchedResources: patched.yaml}
"""


def write_test(folder: Path, assertions: str = "", rows: str = ROWS, name: str = "owners") -> Path:
    """Write the test's files; assertions: the lines of the annotation."""
    head = f"apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata:\n  name: {name}\n"
    if assertions:
        lines = "".join(f"      {line}\n" for line in assertions.splitlines())
        head += f"  annotations:\n    chartkit.dev/assert: |\n{lines}"
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in (
        ("policies.yaml", POLICIES),
        ("objects.yaml", OBJECTS),
        ("patched.yaml", PATCHED),
        ("kyverno-test.yaml", head + rows),
    ):
        (folder / file).write_text(text, "utf-8")
    return folder
