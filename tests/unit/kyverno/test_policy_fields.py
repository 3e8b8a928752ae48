"""What of a policy depends on Kyverno's release: fields, literals in CEL, and autogen."""

from collections.abc import Callable
from typing import Any

import pytest

from chartkit.kyverno.cel_literals import (
    Call,
    ObjectLiteral,
    calls,
    constants,
    objects,
    results,
    tokens,
)
from chartkit.kyverno.policy_fields import (
    OLDEST,
    as_json,
    extends_to_controllers,
    fields,
    minimum_version,
)
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Json
from tests.data import from_table


def _policy(rule: Body | None = None, **spec: Any) -> Body:
    base: Body = {"name": "rule", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
    return {"kind": "ClusterPolicy", "spec": {**spec, "rules": [{**base, **(rule or {})}]}}


def _match(**resources: Any) -> Body:
    return {"match": {"all": [{"resources": {"kinds": ["Pod"], **resources}}]}}


@pytest.mark.parametrize(
    ("policy", "version", "path"),
    [
        (_policy(), "1.6", None),
        (_policy({"validate": {"message": "no", "pattern": {"spec": {}}}}), "1.6", None),
        (_policy({"context": [{"name": "x", "variable": {"value": 1}}]}), "1.7", "variable"),
        (_policy({"validate": {"podSecurity": {"level": "baseline"}}}), "1.8", "podSecurity"),
        (_policy(applyRules="One"), "1.8", "applyRules"),
        (_policy(_match(operations=["CREATE"])), "1.10", "operations"),
        (_policy({"exclude": {"resources": {"operations": ["DELETE"]}}}), "1.10", "operations"),
        (_policy(admission=False), "1.11", "admission"),
        (_policy({"validate": {"cel": {"expressions": []}}}), "1.11", "cel"),
        (_policy(webhookConfiguration={"matchConditions": []}), "1.12", "webhookConfiguration"),
        (_policy({"validate": {"failureAction": "Audit"}}), "1.13", "failureAction"),
        (_policy({"validate": {"allowExistingViolations": False}}), "1.13", "allowExisting"),
        (_policy(emitWarning=True), "1.13", "emitWarning"),
    ],
)
def test_minimum_version(policy: Body, version: str, path: str | None) -> None:
    found, use = minimum_version(policy)
    assert str(found) == version
    assert (use is None) is (path is None)
    if use and path:
        assert path in use.field.text


def test_the_newest_field_counts() -> None:
    policy = _policy({**_match(operations=["CREATE"]), "validate": {"assert": {}}})
    found, use = minimum_version(policy)
    assert found == Version(1, 13)
    assert use is not None
    assert use.path == ("spec", "rules", 0, "validate", "assert")


@pytest.mark.parametrize(
    "policy",
    [
        _policy(admission=True, emitWarning=False, applyRules="All"),
        _policy({"skipBackgroundRequests": True}),
        _policy({"skipBackgroundRequests": False}),
        _policy({"reportProperties": {"a": "b"}}),
        _policy({"validate": {"allowExistingViolations": True}}),
    ],
)
def test_what_an_older_version_may_go_without_does_not_count(policy: Body) -> None:
    assert minimum_version(policy) == (OLDEST, None)


@pytest.mark.parametrize("policy", [{}, {"spec": None}, {"spec": {"rules": [1, None]}}])
def test_a_broken_policy_needs_nothing(policy: Body) -> None:
    assert minimum_version(policy)[0] == OLDEST


def test_no_field_is_listed_twice() -> None:
    paths = [field.path for field in fields()]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("keep", [lambda row: "default" in row, lambda row: "without" in row])
def test_the_table_for_helm_has_false_values(keep: Callable[[Body], bool]) -> None:
    rows = {".".join(row["path"]): row for row in as_json() if keep(row)}
    assert rows["emitWarning"]["since"] == 1013
    assert False in (rows["emitWarning"].get("default"), rows["emitWarning"].get("without"))


PODS: Body = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
WRONG: tuple[Json, ...] = (
    *(None, 1, 1.5, True, "x", [], ["x"], [None], [[]], {}, {"a": None}, {"0": PODS}),
)


def _cel_autogen_policy(constraints: Json) -> Body:
    return {"kind": "ValidatingPolicy", "spec": {"matchConstraints": constraints}}


@from_table("constraints", "extended")
def test_policies_of_pods_alone(constraints: Body, extended: bool) -> None:
    assert extends_to_controllers(_cel_autogen_policy(constraints)) is extended


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_constraints_of_any_type(wrong: Json) -> None:
    for constraints in (
        wrong,
        {"resourceRules": wrong},
        {"resourceRules": [wrong]},
        {"resourceRules": [{**PODS, "apiGroups": wrong}]},
        {"resourceRules": [{**PODS, "resources": [wrong]}]},
    ):
        assert not extends_to_controllers(_cel_autogen_policy(constraints))


GET = "resource.Get"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resource.Get('v1', \"pods\", x, 'n')", [Call(("v1", "pods", None, "n"), True)]),
        ('resource.Get(r\'v1\', """pods""")', [Call(("v1", "pods"), True)]),
        ("resource . Get ( 'a', f('b', 'c') )", [Call(("a", None), True)]),
        ("resource.Get('a', 'b').spec", [Call(("a", "b"), False)]),
        ("resource.Get('a', 'b').items.map(x, x)", [Call(("a", "b"), True)]),
        ("resource.Get(variables.v, variables.w)", [Call(("v1", None), True)]),
        ("'resource.Get(1)' + \"x\" // resource.Get('a')", []),
        ("my.resource.Get('a')", []),
        ("resource.GetAll('a')", []),
        ("resource.Get", []),
        ("resource.Get('\\x41')", [Call((None,), True)]),
        ("resource.Get('a', ('b'", [Call(("a", None), True)]),
        ("resource.Get()", [Call((), True)]),
    ],
)
def test_cel_literals_calls(text: str, expected: list[Call]) -> None:
    assert list(calls(text, GET, {"v": "v1"})) == expected


def test_objects_are_maps_with_metadata() -> None:
    text = """[
      {"apiVersion": dyn("v1"), "kind": variables.k, "metadata": dyn({"labels": {"kind": "no"}})},
      {"kind": object.kind + "x", "metadata": {}},
      {"kind": "Role", "apiVersion": "v1"},
      {kind: "Pod", "metadata": {}}]"""
    assert list(objects(text, {"k": "Secret"})) == [
        ObjectLiteral("v1", "Secret"),
        ObjectLiteral(None, None),
    ]


def test_unbalanced_text_ends() -> None:
    assert list(objects("}}} {\"kind\": 'a', ))", {})) == []
    assert list(objects("{'kind': ", {})) == []


def test_variables_whose_values_are_taken_whole() -> None:
    text = "f(variables.a, [variables.b], variables.c.items, variables.d.data, variables.e[0])"
    assert results(text) == {"a", "b", "c"}


def test_cel_literals_constants() -> None:
    assert constants({"a": "'x'", "b": "1", "c": "'x' + 'y'"}) == {"a": "x"}


def test_hostile_texts_take_no_time() -> None:
    for text in (
        "'" * 50_000,
        '"' * 50_001,
        "(" * 50_000,
        "{'kind':" * 10_000,
        "resource." * 9999,
        "resource.Get(" * 9999,
    ):
        assert len(tokens(text)) <= len(text)
        list(calls(text, GET, {}))
        list(objects(text, {}))
