"""Formulas are necessary: no object that the engine lets pass fails what is wanted of it."""

from functools import cache

import pytest

from chartkit.addons.satisfy.fields import skeleton
from chartkit.addons.satisfy.formula import truth
from chartkit.addons.satisfy.wants import wants_of
from chartkit.addons.satisfy.witness import find
from chartkit.engine import Phase, Request, RunnablePolicy, as_submitted, evaluate
from chartkit.model import Resource, Status
from chartkit.scan.policies import PolicySet, compile_all, read_policies
from chartkit.scan.requests import Requests
from tests.addons.satisfy.sets import policies_of, sets

KINDS = ("Pod", "Deployment", "CronJob", "Service", "Ingress", "Namespace")


@cache
def _policies(form: str) -> PolicySet:
    return compile_all(read_policies("eks-best-practices", {}, form, lambda _: None)[0])


def _passing(policy: RunnablePolicy, resource: Resource) -> dict[str, bool | None]:
    """What the formula of each rule that passes says of an object."""
    submitted = as_submitted(resource)
    request = Request(submitted)
    if not policy.concerns(request):
        return {}
    results = evaluate([policy], request, phases=(Phase.VALIDATE,))
    passed = {each.rule for each in results if each.status is Status.PASS}
    wants = wants_of(policy, submitted)
    return {
        each.rule: truth(each.formula, submitted.body, {}) for each in wants if each.rule in passed
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["ClusterPolicy", "ValidatingPolicy"])
def test_what_passes_meets_the_formulas_of_a_profile(form: str, kind: str) -> None:
    given = _policies(form)
    found = find(Requests.of(given, []), skeleton(kind), 5).witness
    assert found is not None
    for resource in (skeleton(kind), Resource(found.body)):
        judged = {each.policy.id: _passing(each, resource) for each in given.policies}
        assert [name for name, said in judged.items() if False in said.values()] == []


@pytest.mark.parametrize("name", sets())
def test_what_passes_meets_the_formulas_of_sets(name: str) -> None:
    policies = policies_of([*sets()[name]["excluding"]["rules"], *sets()[name]["passing"]])
    for policy in policies:
        found = find(Requests.of(PolicySet((policy,), ()), []), skeleton("Pod"), 5).witness
        assert found is not None
        for resource in (skeleton("Pod"), Resource(found.body)):
            assert False not in _passing(policy, resource).values()
