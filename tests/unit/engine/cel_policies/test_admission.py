"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with bindings and parameters."""

from typing import Any

import pytest

from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserMocks
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import User
from chartkit.errors import CompileError
from chartkit.model import Body, Location, Resource
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import (
    KUBERNETES,
    about,
    conditions,
    pod,
    policy,
    results,
    said,
    validating,
    variables,
)

VALIDATING = "ValidatingAdmissionPolicy"
MUTATING = "MutatingAdmissionPolicy"
CONFIGS: list[Body] = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"for": "p"}},
        "data": {"wanted": wanted},
    }
    for name, wanted in (("a", "web"), ("b", "db"))
]
WORLD = World(
    UserApi(Cluster(CONFIGS)), mocks=UserMocks(read_values(None, Location("v"), read_settings([])))
)
PARAM_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


def native(*validations: str | Body, **spec: Any) -> Resource:
    made = [{"expression": one} if isinstance(one, str) else one for one in validations]
    return policy(VALIDATING, validations=made, **spec)


def binding(kind: str = VALIDATING, **spec: Any) -> Resource:
    spec = {"policyName": "p", **spec}
    if kind == VALIDATING:
        spec.setdefault("validationActions", ["Deny"])
    metadata = {"name": "b"}
    body = {"apiVersion": KUBERNETES, "kind": f"{kind}Binding", "metadata": metadata, "spec": spec}
    return Resource(body)


@from_table("validation", "expected")
def test_admission_one_validation(validation: str | Body, expected: list[str] | None) -> None:
    status, message = said(native(validation))
    if expected is None:
        assert "undeclared reference to 'params'" in message
    else:
        assert [status, message] == expected


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"matchConditions": conditions("false")}, "skip"),
        ({"matchConditions": conditions("object.nope == 1")}, "error"),
        ({"matchConditions": conditions("object.nope == 1"), "failurePolicy": "Ignore"}, "skip"),
        ({"matchConditions": conditions("variables.v == 1")}, "pass"),
    ],
)
def test_admission_match_conditions(given: dict[str, Any], status: str) -> None:
    assert said(native("true", variables=variables(v="1"), **given))[0] == status


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        (None, "system:kyverno:background-scan system:kyverno:background-scan"),
        (User("ann"), "ann system:kyverno:background-scan"),
        (User("ann", groups=("dev", "qa")), "ann dev,qa"),
    ],
)
def test_somebody_always_asks(user: User | None, shown: str) -> None:
    text = "request.userInfo.username + ' ' + request.userInfo.groups.join(',')"
    found = native({"expression": "!has(request.userInfo.uid)", "messageExpression": text})
    assert said(found, user=user) == ("fail", shown)


def test_admission_variables() -> None:
    named = variables(v="object.nope", w="1", x="variables.w + 1")
    assert said(native("variables.x == 2", variables=named))[0] == "pass"
    assert "composited variable" in said(native("variables.v == 2", variables=named))[1]


def test_each_binding_by_itself() -> None:
    narrow = binding(matchResources={"resourceRules": [about(resourceNames=["other"])]})
    (result,) = results(native("false"), bindings=[binding(), narrow])
    assert result.properties == {"binding": "b"}
    assert results(native("false"), pod("x"), bindings=[narrow]) == []


def test_a_bound_rule_without_operations_speaks_of_all() -> None:
    constraints = {"resourceRules": [about("pods", operations=[])]}
    found = native("false", matchConstraints=constraints)
    assert results(found) == []
    assert said(found, bindings=[binding()])[0] == "fail"
    assert results(found, Resource(CONFIGS[0]), bindings=[binding()]) == []


def test_a_binding_never_widens() -> None:
    wide = binding(matchResources={"resourceRules": [about("configmaps")]})
    config = Resource(CONFIGS[0])
    assert results(native("true"), config, bindings=[wide]) == []


@from_table("reference", "status")
def test_admission_parameters(reference: Body, status: str | None) -> None:
    found = native("object.metadata.name == params.data.wanted", paramKind=PARAM_KIND)
    bound = [binding(paramRef=reference)]
    statuses = [one.status.value for one in results(found, bindings=bound, world=WORLD)]
    assert statuses == ([] if status is None else [status])


def test_parameters_that_must_be_there() -> None:
    found = native("params == null", paramKind=PARAM_KIND)
    bound = [binding(paramRef={"name": "none", "parameterNotFoundAction": "Deny"})]
    assert said(found, bindings=bound, world=WORLD) == (
        "error",
        "failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction",
    )


def test_the_namespace_of_cluster_scoped_parameters() -> None:
    kind = {"apiVersion": "v1", "kind": "Node"}
    reference = {"name": "a", "namespace": "x", "parameterNotFoundAction": "Deny"}
    found = native("true", paramKind=kind)
    _, message = said(found, bindings=[binding(paramRef=reference)], world=WORLD)
    assert message.endswith(
        "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    )


def test_a_binding_that_its_schema_refuses() -> None:
    with pytest.raises(CompileError):
        results(native("true"), bindings=[binding(validationActions=["Nope"])])


def labelled(value: str, **spec: Any) -> Resource:
    text = f"Object{{metadata: Object.metadata{{labels: {{'x': {value}}}}}}}"
    made = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}]
    return policy(MUTATING, mutations=made, reinvocationPolicy="Never", **spec)


def test_admission_mutation() -> None:
    (result,) = results(labelled("object.metadata.name"), bindings=[binding(MUTATING)])
    assert result.patched is not None
    assert result.patched["metadata"]["labels"] == {"x": "web"}
    assert result.properties == {"mapBinding": "b"}


def test_mutation_with_each_parameter() -> None:
    found = labelled(
        "params.data.wanted",
        paramKind=PARAM_KIND,
        matchConditions=conditions("params.metadata.name == 'a'"),
    )
    reference = {"selector": {}, "parameterNotFoundAction": "Deny"}
    (result,) = results(found, bindings=[binding(MUTATING, paramRef=reference)], world=WORLD)
    assert result.patched is not None
    assert result.patched["metadata"]["labels"] == {"x": "web"}


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (labelled("object.nope"), "error"),
        (labelled("'y'", matchConditions=conditions("false")), "skip"),
    ],
)
def test_admission_what_changes_nothing(found: Resource, status: str) -> None:
    (result,) = results(found)
    assert (result.status.value, result.patched) == (status, None)


def test_kyvernos_kinds_have_no_bindings() -> None:
    assert said(validating("true"), bindings=[binding()]) == ("pass", "success")
