"""The code of a function or a macro is declared in one place: shared verdicts, the fields of
failures and explanations follow."""

from dataclasses import replace

import pytest

from chartkit.engine import verdicts
from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.declarations import Environment, Function, macro, overload
from chartkit.engine.cel.explain import explain
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel_policies import expressions
from chartkit.engine.cleanup import Cleaner
from chartkit.engine.jmespath import compiler
from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.policies import compile_any
from chartkit.engine.request import Request
from chartkit.engine.verdicts import Judge
from chartkit.model import Body, Resource, RuleResult, Status
from tests.data import from_table
from tests.unit.engine.policies import policy_resource, rule


@function("shout(string) string")
def shout(text: str) -> str:
    """Return a text in capitals."""
    _asked.append(text)
    return text.upper()


@overload("string_shout: string.shout() -> string")
def shouted(text: str) -> str:
    _asked.append(text)
    return text.upper()


def _expand(make: Builder, _target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    return make.member_call(args[0], "shout")


LOUD = macro("loud(text)", _expand)

_asked: list[str] = []


def _results(resource: Resource) -> list[RuleResult]:
    """Return what a policy says of Pods that differ in what it does not read."""
    policy = compile_any(resource)
    assert not isinstance(policy, Cleaner)
    judge = Judge([policy])
    results: list[RuleResult] = []
    for number in range(30):
        metadata = {"name": f"pod-{number}", "labels": {"app": "ab"[number % 2]}}
        body: Body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        results += judge.results(Request(Resource({**body, "spec": {"number": number}})))
    return results


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share verdicts from the first object on, and count anew what the functions are asked."""
    monkeypatch.setattr(verdicts, "FEW", 1)
    _asked.clear()


@pytest.fixture
def environment() -> Environment:
    """Return the expressions of ValidatingPolicies with one more function and macro."""
    known = ENVIRONMENTS["vpol"]
    functions = {**known.functions, "shout": Function("shout", (shouted,))}
    macros = {**known.macros, ("loud", False, 1): LOUD}
    return replace(known, functions=functions, macros=macros, of_functions={})


def _is_shared(results: list[RuleResult]) -> bool:
    """Return whether each Pod has its verdict with its field, and equal Pods were judged once."""
    told = [(each.status, each.fields) for each in results]
    expected = [(Status.PASS, ()), (Status.FAIL, ("/metadata/labels/app",))] * 15
    return told == expected and len(_asked) < 10


def test_a_function_of_jmespath(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "FUNCTIONS", {**FUNCTIONS, "shout": shout})
    key = "{{ shout(request.object.metadata.labels.app) }}"
    deny = {"conditions": {"any": [{"key": key, "operator": "Equals", "value": "B"}]}}
    assert _is_shared(_results(policy_resource(rule(validate={"message": "m", "deny": deny}))))


@from_table("text")
def test_a_function_and_a_macro_of_cel(
    monkeypatch: pytest.MonkeyPatch, environment: Environment, text: str
) -> None:
    monkeypatch.setattr(expressions, "ENVIRONMENTS", {"vpol": environment})
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    constraints = {"resourceRules": [{**pods, "resources": ["pods"]}]}
    validations = [{"expression": f"{text} != 'B'"}]
    body: Body = {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy"}
    spec = {"matchConstraints": constraints, "validations": validations}
    assert _is_shared(_results(Resource({**body, "metadata": {"name": "p"}, "spec": spec})))


@pytest.mark.parametrize("text", ["'a'.shout()", "loud('a')"])
def test_an_explanation(environment: Environment, text: str) -> None:
    whole = explain(compile_expression(f"{text} == 'A'", environment), {})
    part = whole.parts[0]
    assert (whole.value, part.text, part.value) == (True, text.replace("'", '"'), "A")
