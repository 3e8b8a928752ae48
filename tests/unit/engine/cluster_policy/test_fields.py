"""The fields that failures of ClusterPolicies name, the most telling first."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource, RuleResult, Status
from tests.data import from_table, tables
from tests.objects import api_object
from tests.unit.engine import policies


def _result(
    validate: Body, body: Body, operation: Operation = Operation.CREATE, **rule: Any
) -> RuleResult:
    """The last result of a rule for an object: that of the rule for Pod controllers, if any."""
    validate = {"message": "x", **validate}
    rules = [policies.rule("x", (body["kind"], "Pod"), validate=validate, **rule)]
    policy = compile_policy(policies.policy_resource(*rules))
    return evaluate([policy], Request(Resource(body), operation=operation))[-1]


def _fields(validate: Body, body: Body, **rule: Any) -> tuple[str, ...]:
    result = _result(validate, body, **rule)
    assert result.status is Status.FAIL, result.message
    return result.fields


def _pod(spec: Body, **metadata: Any) -> Body:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", **metadata}, "spec": spec}


def _containers(*containers: Body) -> list[Body]:
    return [{"name": f"c{index}", "image": "x:1", **one} for index, one in enumerate(containers)]


@pytest.mark.parametrize(
    ("pattern", "body", "fields"),
    [
        (
            {"spec": {"containers": [{"securityContext": {"privileged": False}}]}},
            _pod({"containers": _containers({"securityContext": {"privileged": True}})}),
            ["/spec/containers/0/securityContext/privileged"],
        ),
        (
            {"spec": {"containers": [{"securityContext": {"privileged": False}}]}},
            _pod({"containers": _containers({"securityContext": {"privileged": False}}, {})}),
            ["/spec/containers/1/securityContext/privileged"],
        ),
        (
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "?*", "memory": "?*"}}}]}},
            _pod({"containers": _containers({})}),
            [
                "/spec/containers/0/resources",
                "/spec/containers/0/resources/limits/cpu",
                "/spec/containers/0/resources/limits/memory",
            ],
        ),
        (
            {"metadata": {"annotations": {"a/b": "?*"}}},
            _pod({"containers": _containers({})}, annotations={"a/c": "x"}),
            ["/metadata/annotations/a~1b"],
        ),
        (
            {"metadata": {"labels": {"acme.*": "*"}}},
            _pod({"containers": _containers({})}, labels={"x": "x"}),
            ["/metadata/labels"],
        ),
        (
            {"spec": {"=(volumes)": [{"X(hostPath)": "null"}]}},
            _pod({"volumes": [{"name": "a"}, {"name": "b", "hostPath": {"path": "/"}}]}),
            ["/spec/volumes/1/hostPath"],
        ),
        (
            {"spec": {"^(containers)": [{"image": "y:*"}]}},
            _pod({"containers": _containers({})}),
            ["/spec/containers"],
        ),
        (
            {"spec": {"containers": [{"(image)": "x:*", "imagePullPolicy": "Always"}]}},
            _pod({"containers": _containers({"imagePullPolicy": "Never"})}),
            ["/spec/containers/0/imagePullPolicy"],
        ),
        (
            {"spec": {"containers": [{"args": "a | b"}]}},
            _pod({"containers": _containers({"args": ["a", "c"]})}),
            ["/spec/containers/0/args/1", "/spec/containers/0/args"],
        ),
    ],
)
def test_patterns(pattern: Body, body: Body, fields: list[str]) -> None:
    assert _fields({"pattern": pattern}, body) == tuple(fields)


def test_each_branch_of_any_pattern() -> None:
    own = {"spec": {"securityContext": {"runAsNonRoot": True}}}
    each = {"spec": {"containers": [{"securityContext": {"runAsNonRoot": True}}]}}
    body = _pod({"containers": _containers({"securityContext": {"runAsNonRoot": False}})})
    assert _fields({"anyPattern": [own, each]}, body) == (
        "/spec/securityContext/runAsNonRoot",
        "/spec/containers/0/securityContext/runAsNonRoot",
    )


def _deny(key: Any, operator: str, value: Any) -> Body:
    condition = {"key": key, "operator": operator, "value": value}
    return {"deny": {"conditions": {"any": [condition]}}}


_TWO = _pod(
    {"containers": _containers({}, {"image": "bad", "securityContext": {"privileged": True}})},
    labels={"app": "x"},
)


@from_table("key", "operator", "value", "fields")
def test_conditions_on_containers(key: str, operator: str, value: Any, fields: list[str]) -> None:
    found = _fields(_deny(key, operator, value), _TWO)
    expected = [f"/spec/containers/{each}" for each in fields if len(each) > 1]
    assert list(found[: len(expected)]) == expected


@from_table("key", "operator", "value")
def test_a_missing_key_is_where_it_would_be(key: Any, operator: str, value: Any) -> None:
    assert _fields(_deny(key, operator, value), _TWO)[0] == "/metadata/labels/team"


@from_table("key", "operator", "value", "fields")
def test_fields_that_were_only_read_are_not_named(
    key: Any, operator: str, value: Any, fields: list[str]
) -> None:
    spec = {
        "containers": _containers({"ports": [{"hostPort": 80}]}),
        "volumes": [{"nfs": {"path": "/"}}],
    }
    found = _fields(_deny(key, operator, value), _pod(spec, labels={"app": "x", "on": "y"}))
    assert list(found) == fields


def test_variables_lead_back_to_the_object() -> None:
    context = [
        {"name": "images", "variable": {"jmesPath": "request.object.spec.containers[].image"}},
        {"name": "last", "variable": {"value": "{{ images_ }}", "jmesPath": "[1]"}},
    ]
    context[0]["name"] = "images_"
    denied = _deny("{{ last }}", "Equals", "bad")
    assert _fields(denied, _TWO, context=context)[0] == "/spec/containers/1/image"


def test_the_element_of_a_loop_in_a_controller() -> None:
    template = {"spec": {"containers": _TWO["spec"]["containers"]}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    body["spec"] = {"template": template}
    loop = {
        "list": "request.object.spec.template.spec.containers",
        **_deny("{{ element.image }}", "Equals", "bad"),
    }
    assert _fields({"foreach": [loop]}, body) == ("/spec/template/spec/containers/1/image",)
    loop = {"list": loop["list"], "pattern": {"image": "!bad"}}
    assert _fields({"foreach": [loop]}, body) == ("/spec/template/spec/containers/1/image",)


def test_all_conditions_come_before_any_and_the_identity_last() -> None:
    conditions = tables(__file__)["conditions"]
    body = api_object("v1", "Thing", "x", spec={"a": 1, "b": 1})
    fields = _fields({"deny": {"conditions": conditions}}, body)
    assert fields == ("/spec/b", "/spec/a", "/metadata/name")


def test_a_rule_that_refuses_all_it_applies_to_is_about_what_it_applies_by() -> None:
    met = {"all": [{"key": "{{ request.object.type }}", "operator": "Equals", "value": "x"}]}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "type": "x"}
    assert _fields({"deny": {}}, body, preconditions=met) == ("/type",)
    assert _fields({"deny": {}}, body) == ()


def test_a_deleted_object_is_the_one_judged() -> None:
    denied = _deny("{{ request.object.metadata.labels.app }}", "Equals", "x")
    result = _result(denied, _TWO, Operation.DELETE)
    assert (result.status, result.fields) == (Status.FAIL, ("/metadata/labels/app",))


@pytest.mark.parametrize(
    ("spec", "metadata", "fields"),
    [
        (
            {
                "containers": _containers(
                    {"securityContext": {"capabilities": {"add": ["CHOWN", "BPF"]}}}
                )
            },
            {},
            ["/containers/0/securityContext/capabilities/add/1"],
        ),
        ({"hostPID": True}, {}, ["/hostPID"]),
        (
            {"containers": _containers({"ports": [{}, {"hostPort": 1}]})},
            {},
            ["/containers/0/ports/1/hostPort"],
        ),
        (
            {"securityContext": {"sysctls": [{"name": "x", "value": "1"}]}},
            {},
            ["/securityContext/sysctls/0/name"],
        ),
        ({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, {}, ["/volumes/0/hostPath"]),
        (
            {
                "initContainers": _containers(
                    {"livenessProbe": {"httpGet": {"host": "a", "port": 1}}}
                )
            },
            {},
            ["/initContainers/0/livenessProbe/httpGet/host"],
        ),
        (
            {},
            {"annotations": {"container.apparmor.security.beta.kubernetes.io/c0": "x"}},
            ["-/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1c0"],
        ),
    ],
)
def test_pod_security(spec: Body, metadata: Body, fields: list[str]) -> None:
    rule = {"podSecurity": {"level": "baseline", "version": "latest"}}
    given = {"containers": _containers({}), **spec}
    pod = [each.removeprefix("-") if each[0] == "-" else f"/spec{each}" for each in fields]
    assert _fields(rule, _pod(given, **metadata))[: len(pod)] == tuple(pod)
    template = {"metadata": metadata, "spec": given}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    deployment["spec"] = {"template": template}
    found = _fields(rule, deployment)
    assert found[: len(pod)] == tuple(f"/spec/template{each}" for each in pod)


def test_the_pod_speaks_for_several_containers() -> None:
    rule = {"podSecurity": {"level": "restricted", "version": "v1.20", "exclude": []}}
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    safe["seccompProfile"] = {"type": "RuntimeDefault"}
    two = _pod({"containers": _containers({"securityContext": safe}, {"securityContext": safe})})
    assert _fields(rule, two)[0] == "/spec/securityContext/runAsNonRoot"


def test_what_passes_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a pass was traced")

    monkeypatch.setattr("chartkit.engine.context.origins.origins_of", fail)
    result = _result(_deny("{{ request.object.metadata.name }}", "Equals", "y"), _TWO)
    assert (result.status, result.fields) == (Status.PASS, ())


def test_a_default_hides_no_field() -> None:
    key = "{{ length(request.object.spec.containers[?!contains(args || `[]`, 'a')]) }}"
    assert _fields(_deny(key, "GreaterThan", 0), _TWO)[0] == "/spec/containers/0/args"
