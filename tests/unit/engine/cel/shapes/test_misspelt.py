"""Fields that a kind does not have are found before anything runs; nothing is refused."""

from __future__ import annotations

import pytest

from chartkit.engine.cel import CelCompileError
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.shapes import misspelt, type_warnings
from chartkit.engine.kinds import GroupVersionKind

POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    ("expression", "field", "hint"),
    [
        ("object.spec.replica > 1", "replica", "did you mean 'replicas'?"),
        ("has(oldObject.metdata.name)", "metdata", "did you mean 'metadata'?"),
        ("object.spec.?zzz.orValue(1) == 1", "zzz", None),
        (
            "object.spec.template.spec.containers.all(c, has(c.securityContex.runAsUser))",
            "securityContex",
            "did you mean 'securityContext'?",
        ),
        (
            "object.spec.template.spec.volumes.exists(i, v, v.hostPath.pth == '/')",
            "pth",
            "did you mean 'path'?",
        ),
    ],
)
def test_misspelt_fields(expression: str, field: str, hint: str | None) -> None:
    [found] = misspelt(expression, ENVIRONMENTS["vpol"], [DEPLOYMENT])
    [diagnostic] = found.diagnostics()
    assert diagnostic.message == f"apps/v1, Kind=Deployment: undefined field '{field}'"
    assert diagnostic.hint == hint


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1 && object.metadata.labels['a'] == 'b'",
        "object.metadata.annotations.anything == 'x'",
        "object.spec.template.spec.containers[0].resources.limits.cpu == '1'",
        "variables.anything.goes",
        "object.spec.replicas + 'text'",
        "object.spec.replicas == null",
        "object.spec.template.spec.volumes.map(v, v.filter(k, k != 'name'))",
        "object.spec.template.spec.containers + object.spec.template.spec.ephemeralContainers",
    ],
)
def test_what_is_no_misspelling(expression: str) -> None:
    assert misspelt(expression, ENVIRONMENTS["vpol"], [DEPLOYMENT]) == ()


def test_warnings_have_the_text_of_an_api_server() -> None:
    warnings = type_warnings("object.spec.replicas + 'a'", ENVIRONMENTS["vap"], [DEPLOYMENT, POD])
    assert [str(each) for each in warnings] == [
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_+_' "
        "applied to '(int, string)'\n | object.spec.replicas + 'a'\n | .....................^\n",
        "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n"
        " | object.spec.replicas + 'a'\n | ...........^\n",
    ]


def test_what_the_environment_complains_of_is_not_told_again() -> None:
    expression = "nope && object.spec.zzz && request.what"
    [found] = type_warnings(expression, ENVIRONMENTS["k8s"], [POD])
    assert [issue.message for issue in found.issues] == ["undefined field 'zzz'"]
    [found] = misspelt(expression, ENVIRONMENTS["k8s"], [POD])
    assert [issue.message for issue in found.issues] == ["undefined field 'zzz'"]


def test_unknown_kinds_are_passed_over() -> None:
    custom = GroupVersionKind("example.com", "v1", "Widget")
    assert misspelt("object.spec.zzz", ENVIRONMENTS["vpol"], [custom]) == ()


def test_an_environment_without_objects_is_left_alone() -> None:
    with pytest.raises(CelCompileError):
        misspelt("object.", ENVIRONMENTS["standard"], [POD])
    assert misspelt("object.spec.zzz", ENVIRONMENTS["standard"], [POD]) == ()
