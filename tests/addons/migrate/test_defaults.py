"""Defaults of another type than the field, and comparisons of values with constants of other types.

Kyverno answers each by the types of both sides; the expressions say what that comes to.
"""

from typing import Final

import pytest

from chartkit.model import Body
from tests.addons.migrate.conversions import converted, deny, same_result
from tests.data import from_table

_CONTAINERS: Final = "request.object.spec.containers"


def _foreach(key: str, operator: str, value: str) -> str:
    condition = f'{{key: "{{{{ {key} }}}}", operator: {operator}, value: {value}}}'
    loop = f"{{list: {_CONTAINERS}, deny: {{conditions: {{any: [{condition}]}}}}}}"
    return f"validate: {{message: m, foreach: [{loop}]}}"


def _pod(container: Body, **spec: object) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {"containers": [{"name": "a", "image": "a:1", **container}], **spec},
    }


def _limited(memory: str) -> Body:
    return {"resources": {"limits": {"memory": memory}, "requests": {"memory": "1Gi"}}}


def _capable(*capabilities: str) -> Body:
    return {"securityContext": {"capabilities": {"drop": list(capabilities)}}}


_BODIES: Final = (
    *(_pod({}), _pod(_limited("1Gi")), _pod(_limited("1024Mi")), _pod(_limited("0"))),
    *(_pod({"securityContext": {"runAsUser": user}}) for user in (0, 1000)),
    *(_pod({"securityContext": {"runAsNonRoot": each}}) for each in (True, False)),
    *(_pod(_capable()), _pod(_capable("ALL")), _pod(_capable("ALL", "KILL"))),
    _pod({"ports": [{"containerPort": 80, "hostPort": 80}]}),
    _pod({"env": [{"name": "A", "value": "b"}]}),
    _pod({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}),
)


@from_table("key", "operator", "value", "expression")
def test_defaults_of_other_types(
    key: str, operator: str, value: str, expression: str | None
) -> None:
    rule = _foreach(key, operator, value)
    for body in _BODIES:
        same_result(rule, body)
    if expression:
        assert converted(rule, "Pod").expressions == [
            f"object.spec.containers.all(container, {expression})"
        ]


def _budget(**spec: object) -> Body:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "d", "annotations": {"note": str(spec)[-4:-2]}},
        "spec": {"selector": {}, **spec},
    }


_BUDGETS: Final = (
    *(_budget(), _budget(maxUnavailable=0), _budget(maxUnavailable=2), _budget(minAvailable=0)),
    *(_budget(maxUnavailable="0"), _budget(maxUnavailable="0%"), _budget(maxUnavailable="50%")),
)
_MOST: Final = "{{ request.object.spec.maxUnavailable || DEFAULT }}"


@pytest.mark.parametrize(
    ("default", "operator", "value"),
    [
        *(("''", "Equals", each) for each in ("''", "0", "'0'", "'50%'")),
        ("''", "AnyIn", "['0', '0%', 0]"),
        ("`0`", "LessThan", "1"),
        ("`1`", "GreaterThan", "1"),
    ],
)
def test_numbers_or_texts(default: str, operator: str, value: str) -> None:
    rule = deny(_MOST.replace("DEFAULT", default), operator, value)
    for body in _BUDGETS:
        same_result(rule, body)


def _map(**annotations: str) -> Body:
    metadata = {"name": "c", "namespace": "d", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


@pytest.mark.parametrize("value", ["'1'", "'1h'", "60", "'60m'", "[a]", "{a: b}", "true", "''"])
@pytest.mark.parametrize("operator", ["Equals", "NotEquals"])
def test_texts_are_compared_with_other_types(operator: str, value: str) -> None:
    rule = deny("{{ request.object.metadata.annotations.note || '' }}", operator, value)
    for note in ("1", "1.0", "1h", "60m", "60s", "3600s", "a", "", "true"):
        same_result(rule, _map(note=note))


@from_table("pattern")
def test_leaves_of_other_types(pattern: str) -> None:
    rule = f"validate: {{message: m, pattern: {{{pattern}}}}}"
    for body in _BUDGETS:
        for note in ("1h", "90m", "2h", "0", "x"):
            body["metadata"]["annotations"]["note"] = note
            same_result(rule, body)


@pytest.mark.parametrize("pattern", ["'*'", "'1*'", "'!1*'", "a", "'!a'", "'>=1000 | *'"])
def test_numbers_that_are_compared_with_texts(pattern: str) -> None:
    loop = f"{{list: {_CONTAINERS}, pattern: {{'=(securityContext)': {{runAsUser: {pattern}}}}}}}"
    for body in _BODIES:
        same_result(f"validate: {{message: m, foreach: [{loop}]}}", body)


@pytest.mark.parametrize(
    "pattern", ["NAME", "'!NAME'", "'NAME*'", "'*NAME'", "'*/NAME*'", "'!*NAME/*'", "'a/NAME:*'"]
)
def test_wildcards_and_operators_next_to_variables(pattern: str) -> None:
    text = pattern.replace("NAME", "{{ request.object.metadata.name }}")
    text = text if text.startswith("'") else f"'{text}'"
    rule = f"validate: {{message: m, pattern: {{spec: {{containers: [{{image: {text}}}]}}}}}}"
    for image in ("p", "p:1", "a/p", "a/p:1", "a/p/b", "b"):
        same_result(rule, _pod({"image": image}))


@pytest.mark.parametrize("pattern", ["'*'", "'t*'", "'!true'", "a", "'!a'"])
def test_booleans_that_are_compared_with_texts(pattern: str) -> None:
    rule = f"validate: {{message: m, pattern: {{spec: {{hostNetwork: {pattern}}}}}}}"
    for body in (_pod({}), _pod({}, hostNetwork=True), _pod({}, hostNetwork=False)):
        same_result(rule, body)


@pytest.mark.parametrize("operator", ["GreaterThan", "LessThanOrEquals"])
@pytest.mark.parametrize("swapped", [False, True])
def test_numbers_are_in_order_with_texts_of_variables(operator: str, swapped: bool) -> None:
    replicas, note = "request.object.spec.replicas", "request.object.metadata.annotations.note"
    key, value = (note, replicas) if swapped else (replicas, note)
    rule = deny(f"{{{{ {key} }}}}", operator, f"'{{{{ {value} }}}}'")
    for text in ("1", "2.5", "3s", "1m", "x", "", "1Gi"):
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "d", "annotations": {"note": text}},
            "spec": {"replicas": 3, "selector": {}, "template": {"spec": {"containers": []}}},
        }
        same_result(rule, body)


@pytest.mark.parametrize("part", ["name", "referenceWithTag"])
@pytest.mark.parametrize("value", ["a", "docker.io/a:1", "docker.io/a:latest", "r.io:5000/b/c:2"])
def test_defaults_of_parts_of_images(part: str, value: str) -> None:
    rule = deny(f"{{{{ images.containers.*.{part} }}}}", "AnyIn", f"['{value}']")
    digest = "@sha256:" + "0" * 64
    for image in ("a", "a:1", "r.io:5000/b/c:2", "r.io:5000/b/a:2" + digest, "a" + digest):
        same_result(rule, _pod({"image": image}))
