"""Policies of either generation, told apart and asked alike."""

from typing import Any

import pytest

from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cleanup import CleanupPolicy
from chartkit.engine.cleanup.deleting import DeletingPolicy
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.engine.policies import compile_any, is_exception, is_policy, read_exceptions
from chartkit.engine.request import AUDIT, ENFORCE
from chartkit.model import Resource
from tests.data import tables
from tests.objects import api_object
from tests.unit.engine.cel_policies.policies import policy, validating
from tests.unit.engine.policies import policy_resource

CLEANUP = Resource(
    api_object(
        "kyverno.io/v2",
        "ClusterCleanupPolicy",
        "c",
        spec={"schedule": "* * * * *", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}},
    )
)
DELETING = policy("DeletingPolicy", schedule="* * * * *")


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (policy_resource(), CompiledPolicy),
        (validating("true"), CompiledCelPolicy),
        (DELETING, DeletingPolicy),
        (CLEANUP, CleanupPolicy),
    ],
)
def test_each_is_compiled_as_what_it_is(found: Resource, kind: type) -> None:
    assert is_policy(found)
    assert isinstance(compile_any(found), kind)


@pytest.mark.parametrize("api_version", ["v1", "other.io/v1", "policies.kyverno.io.evil/v1"])
def test_other_groups(api_version: str) -> None:
    assert not is_policy(Resource({**validating("true").body, "apiVersion": api_version}))


def test_exceptions_of_both_generations() -> None:
    references = [{"name": "p", "kind": "ValidatingPolicy"}]
    new = api_object(
        "policies.kyverno.io/v1", "PolicyException", "new", spec={"policyRefs": references}
    )
    old = tables(__file__)["old"]
    documents = [Resource(new), Resource(old), validating("true")]
    assert [is_exception(one) for one in documents] == [True, True, False]
    around = read_exceptions(documents)
    assert (len(around.exceptions), len(around.cel_exceptions)) == (1, 1)


@pytest.mark.parametrize(
    ("actions", "action"),
    [
        (None, ENFORCE),
        (["Deny"], ENFORCE),
        (["Audit"], AUDIT),
        (["Warn"], AUDIT),
        (["Deny", "Audit"], ENFORCE),
    ],
)
def test_what_a_failure_does(actions: Any, action: str) -> None:
    compiled = compile_any(validating("true", validationActions=actions))
    assert isinstance(compiled, CompiledCelPolicy)
    assert compiled.action("", "default") == action
