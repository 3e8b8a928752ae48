"""`chartkit eval jmespath` from the outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from chartkit.engine.jmespath import JMESPathError, compile_expression, functions
from tests.e2e.command import PROGRAM, chartkit

POD = {
    "request": {
        "object": {
            "metadata": {
                "name": "pod",
                "labels": {"app": "web"},
                "finalizers": ["example.org/last"],
                "creationTimestamp": "2026-01-02T03:04:05Z",
            },
            "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]},
        }
    }
}
"""What examples speak of that need an object."""


def test_an_expression_on_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text("metadata: {labels: {a: x}}\n", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", "to_upper(metadata.labels.a)", "-i", "in.yaml")
    assert (done.code, done.out, done.err) == (0, '"X"\n', "")


def test_an_expression_without_input(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "eval", "jmespath", "add('1Gi', '512Mi')")
    assert (done.code, json.loads(done.out)) == (0, "1536Mi")


def test_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "eval", "jmespath", "length(@)", "-i", "-"],
        input="[1, 2, 3]",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout == "3\n"


def test_what_cannot_be_evaluated(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "eval", "jmespath", "foo(")
    assert (done.code, done.out) == (1, "")
    assert done.line.startswith("SyntaxError")
    done = chartkit(tmp_path, "eval", "jmespath", "to_number(`[]`)", "-i", "gone.yaml")
    assert (done.code, done.line) == (2, "gone.yaml: no such file")
    done = chartkit(tmp_path, "eval", "jmespath")
    assert done.code == 2


def test_input_must_be_one_value(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("1\n---\n2\n", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", "@", "-i", "two.yaml")
    assert done.code == 2
    assert "holds several documents" in done.line
    (tmp_path / "none.yaml").write_text("", "utf-8")
    done = chartkit(tmp_path, "eval", "jmespath", "@", "-i", "none.yaml")
    assert (done.code, done.line) == (2, "none.yaml: is empty")


def test_every_function_is_listed_with_an_example_that_runs(tmp_path: Path) -> None:
    lines = chartkit(tmp_path, "eval", "jmespath", "--list").out.splitlines()
    assert lines[::3] == [one.signature for one in functions()]
    for example in lines[2::3]:
        if "tls.crt" in example:
            continue
        try:
            compile_expression(example.strip()).search(POD)
        except JMESPathError as error:
            raise AssertionError(f"{example}: {error}") from error
