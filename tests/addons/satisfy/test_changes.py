"""Candidate changes: with all of them an object passes, as the engine sees it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.addons.satisfy.changes import DELETE, Change, repairs
from chartkit.addons.satisfy.solver import with_value
from chartkit.addons.satisfy.values import opposite_words
from chartkit.engine import Request, RunnablePolicy, compile_any, evaluate
from chartkit.model import Resource, Status, path_step, pointer_steps

CASES = sorted((Path(__file__).parent / "data" / "changes").glob("*.yaml"))


def applied(body: Any, changes: Sequence[Change]) -> Any:
    """Return an object with changes, those of lists' items from the last to the first."""
    gone = [each for each in changes if each.value is DELETE]
    for change in [each for each in changes if each.value is not DELETE] + gone[::-1]:
        path = tuple(map(path_step, pointer_steps(change.pointer)))
        body = with_value(body, path, change.value)
    return body


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_changes_make_the_rule_pass(file: Path) -> None:
    documents = list(yaml.safe_load_all(file.read_text()))
    policy_body, body, wanted = documents
    policy = compile_any(Resource(policy_body))
    assert hasattr(policy, "phases")
    runnable: RunnablePolicy = policy  # type: ignore[assignment]
    resource = Resource(body)
    (failed,) = (
        each
        for each in evaluate([runnable], Request(resource))
        if each.status in (Status.FAIL, Status.ERROR)
    )
    changes = next(iter(repairs(resource, runnable, failed)), ())
    shown = {each.pointer: [shown_value(each.value), each.certain] for each in changes}
    assert shown == wanted
    after = evaluate([runnable], Request(Resource(applied(body, changes))))
    assert {each.status for each in after} <= {Status.PASS, Status.SKIP}


def shown_value(value: Any) -> Any:
    return "DELETE" if value is DELETE else value


@pytest.mark.parametrize(
    ("words", "opposite"),
    [
        ("set", "not set"),
        ("windows", "not windows"),
        ("at most 5", "greater than 5"),
        ("less than 1Gi", "at least 1Gi"),
        ("one of a, b", "none of a, b"),
    ],
)
def test_words_of_a_test_have_an_opposite(words: str, opposite: str) -> None:
    assert opposite_words(words) == opposite
    assert opposite_words(opposite) == words
