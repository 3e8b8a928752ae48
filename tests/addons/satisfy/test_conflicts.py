"""Sets of rules: those that no object passes have their smallest core, the others a witness."""

import pytest

from chartkit.addons.satisfy.conflicts.rules import (
    Conflict,
    Undecided,
    conflicts,
    shadowed,
    together,
)
from chartkit.addons.satisfy.fields import skeleton
from chartkit.addons.satisfy.search import Search, Witness
from chartkit.documents.reader import read_text
from chartkit.engine import (
    Request,
    RunnablePolicy,
    as_submitted,
    compile_any,
    evaluate,
    sorted_out,
)
from chartkit.model import Body, Resource, RuleResult, Status
from tests.addons.satisfy.sets import policies_of, sets


def _judged(policies: tuple[RunnablePolicy, ...], body: Body) -> list[RuleResult]:
    return evaluate(policies, Request(as_submitted(Resource(body))))


def _search(policies: tuple[RunnablePolicy, ...]) -> object:
    return Search(skeleton("Pod"), policies, lambda body: _judged(policies, body)).run()


@pytest.mark.parametrize("name", sets())
def test_rules_that_exclude_each_other_are_named(name: str) -> None:
    given = sets()[name]["excluding"]
    policies = policies_of(given["rules"])
    (conflict,) = conflicts(together(policies))
    assert isinstance(conflict, Conflict)
    names = [want.policy.rpartition("/")[2] for want in conflict.wants]
    assert sorted(names) == [f"p{number}" for number in given["core"]]
    assert conflict.is_minimal
    assert not isinstance(_search(policies), Witness)


@pytest.mark.parametrize("name", sets())
def test_rules_that_do_not_have_a_witness(name: str) -> None:
    policies = policies_of(sets()[name]["passing"])
    assert not list(conflicts(together(policies)))
    witness = _search(policies)
    assert isinstance(witness, Witness)
    results = _judged(policies, witness.body)
    assert {result.status for result in results} <= {Status.PASS, Status.SKIP}


def test_what_a_run_has_no_steps_for_is_not_decided() -> None:
    policies = policies_of(next(iter(sets().values()))["excluding"]["rules"])
    (left,) = conflicts(together(policies), steps=0)
    assert isinstance(left, Undecided)
    assert len(left.wants) == len(policies)


def test_a_policy_that_no_cluster_takes_leaves_others_their_rules() -> None:
    text = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: all}
spec: {validations: [{expression: "false"}]}
"""
    [document] = read_text(text, "policy.yaml")
    refused = sorted_out([compile_any(Resource(document.body, document.location))])[0]
    policies = policies_of(next(iter(sets().values()))["passing"])
    assert refused
    assert not list(shadowed(together((*policies, *refused))))
