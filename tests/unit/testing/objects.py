"""A test of two policies, one that validates and one that mutates, in a folder."""

from pathlib import Path

from tests.data import beside

_TEXTS = beside(__file__)
POLICIES = _TEXTS["policies"]
OBJECTS = _TEXTS["objects"]
PATCHED = _TEXTS["patched"]
ROWS = _TEXTS["rows"]


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
