"""The fields that failures name: a change there changes the verdict."""

from dataclasses import replace

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.library.policies import FolderPolicy
from chartkit.model import Body, Resource, RuleResult
from tests.conformance.field_cases import of_library, of_real
from tests.conformance.field_changes import Outcome, change, failures
from tests.data import tables
from tests.policy_forms import ALL, CLUSTER
from tests.shared import shared

_POLICY: Body = tables(__file__)["policy"]


def _config_map(data: Body) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


@pytest.mark.parametrize(
    ("data", "pointer", "outcome"),
    [
        ({"a": "3", "b/c": "x"}, "/data/a", Outcome.ALONE),
        ({"a": "1"}, "/data/b~1c", Outcome.ALONE),
        ({"a": "3", "b/c": "x"}, "/data/b~1c", Outcome.UNCHANGED),
        ({"a": "3", "b/c": "x"}, "/metadata/name", Outcome.UNCHANGED),
        ({"a": "3", "b/c": "x"}, "", Outcome.NONE),
    ],
)
def test_a_field_that_changes_no_verdict_is_told_from_one_that_does(
    data: Body, pointer: str, outcome: Outcome
) -> None:
    policy = compile_policy(Resource(_POLICY))

    def judge(body: Body) -> list[RuleResult]:
        fields = (pointer,) if pointer else ()
        found = evaluate([policy], Request(Resource(body)))
        return [replace(one, fields=fields) for one in found]

    (failure,) = failures(judge, _config_map(data), [_POLICY], ())
    assert change(failure) is outcome


@pytest.mark.slow
@pytest.mark.parametrize("policy", ALL, ids=lambda policy: policy.name)
def test_bad_examples_fail_at_the_field_that_is_named(policy: FolderPolicy) -> None:
    judged = [(str(one), change(one)) for one in of_library(CLUSTER, [policy])]
    assert [one for one, outcome in judged if outcome in (Outcome.NONE, Outcome.UNCHANGED)] == []


@pytest.mark.slow
def test_real_manifests_fail_at_the_field_that_is_named() -> None:
    folders = ("pod-security", "best-practices")
    judged = [(str(one), change(one)) for one in of_real(shared("real").parent, folders)]
    assert len(judged) > 80
    assert [one for one, outcome in judged if outcome in (Outcome.NONE, Outcome.UNCHANGED)] == []
