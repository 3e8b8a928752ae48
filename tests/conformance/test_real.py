"""Real manifests under upstream's policies: every row that Kyverno's own program answers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.documents.reader import read_file, resources
from chartkit.engine.cleanup import Cleaner
from chartkit.engine.policies import RunnablePolicy, compile_any, evaluate, is_policy, sorted_out
from chartkit.engine.request import Request, as_submitted
from chartkit.model import Resource
from tests.conformance.controls import ordered_message
from tests.shared import shared

LIBRARIES = tuple(
    f"{name}{form}" for name in ("pod-security", "best-practices") for form in ("", "-cel", "-vpol")
)
Row = tuple[str, str, str, str, str]


def _policies(library: str) -> tuple[RunnablePolicy, ...]:
    folder = shared(f"conformance/policy-library/{library}")
    found: dict[str, RunnablePolicy | Cleaner] = {}
    for path in sorted(folder.rglob("*.yaml")):
        if path.name == "kyverno-test.yaml" or any(part.startswith(".") for part in path.parts):
            continue
        for resource in filter(is_policy, resources(read_file(path))):
            found[resource.name] = compile_any(resource)
    return sorted_out(found.values())[0]


def _objects() -> Iterator[Resource]:
    for path in sorted(Path(shared("real")).glob("*.yaml")):
        yield from map(as_submitted, resources(read_file(path)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_real_manifests_answer_as_recorded(library: str) -> None:
    recorded: set[Row] = set()
    for line in shared("real/expected.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["library"] == library:
            recorded.add(
                (
                    row["policy"],
                    row["rule"],
                    row["resource"],
                    row["result"],
                    ordered_message(row["message"]),
                )
            )
    policies = _policies(library)
    found: set[Row] = set()
    for resource in _objects():
        name = f"{resource.api_version}/{resource.kind}/{resource.namespace}/{resource.name}"
        for result in evaluate(policies, Request(resource)):
            message = ordered_message(result.message)
            found.add((result.policy, result.rule, name, result.status.value, message))
    assert recorded, "the recorded rows are missing"
    assert sorted(found - recorded) == []
    assert sorted(recorded - found) == []
