"""Sets of rules: candidate changes, conflicts, necessary formulas, and texts of wildcards."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.addons.satisfy.changes import DELETE, Change, repairs
from chartkit.addons.satisfy.conflicts.rules import (
    Conflict,
    Undecided,
    conflicts,
    shadowed,
    together,
)
from chartkit.addons.satisfy.fields import skeleton
from chartkit.addons.satisfy.formula import truth
from chartkit.addons.satisfy.search import Search, Witness
from chartkit.addons.satisfy.solver import with_value
from chartkit.addons.satisfy.texts import Language, TooLargeError, is_readable, shortest
from chartkit.addons.satisfy.values import opposite_words
from chartkit.addons.satisfy.wants import wants_of
from chartkit.addons.satisfy.witness import find
from chartkit.documents.reader import read_text
from chartkit.engine import (
    Phase,
    Request,
    RunnablePolicy,
    as_submitted,
    compile_any,
    evaluate,
    sorted_out,
)
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body, Resource, RuleResult, Status, path_step, pointer_steps
from chartkit.scan.policies import PolicySet, compile_all, read_policies
from chartkit.scan.requests import Requests
from tests.addons.satisfy.sets import policies_of, sets
from tests.data import from_table

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


@from_table("words", "opposite")
def test_words_of_a_test_have_an_opposite(words: str, opposite: str) -> None:
    assert opposite_words(words) == opposite
    assert opposite_words(opposite) == words


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


EMPTY = [
    [Language("reg.example/*"), Language("reg.example/*", wanted=False)],
    [Language("a*"), Language("b*")],
    [Language("^[0-9]+$", is_regex=True), Language("a*")],
    [Language("?"), Language("??")],
    [Language("^(a|b)$", True), Language("a", wanted=False), Language("b", wanted=False)],
    [Language("^x{3}$", True), Language("xxx", wanted=False)],
]


@pytest.mark.parametrize("languages", EMPTY)
def test_no_text(languages: list[Language]) -> None:
    assert shortest(languages) is None


FULL = [
    [Language("reg.example/*"), Language("*:latest", wanted=False), Language("*:*")],
    [Language("a*b"), Language("*ba*")],
    [Language("^(prod|dev)-[a-z]{3,5}$", True), Language("prod*", wanted=False)],
    [Language("foo|bar", True), Language("^b", True)],
    [Language(r"^[^a-y\d]+$", True)],
    [Language(r"^\w+\.\w+$", True), Language("*.x?")],
]


@pytest.mark.parametrize("languages", FULL)
def test_a_text_of_all(languages: list[Language]) -> None:
    text = shortest(languages)
    assert text is not None
    for each in languages:
        if each.is_regex:
            assert (re.search(each.pattern, text) is not None) is each.wanted
        else:
            assert compile_wildcard(each.pattern)(text) is each.wanted


@pytest.mark.parametrize("pattern", [r"\bword", "(?i)a", "a**b", "(", "[[:alpha:]]", "a{9999}"])
def test_expressions_that_are_not_known(pattern: str) -> None:
    assert not is_readable(pattern)


def test_a_product_is_bounded() -> None:
    ways = [Language(f"*{letter}{'?' * 12}") for letter in "abcd"]
    with pytest.raises(TooLargeError):
        shortest(ways)
