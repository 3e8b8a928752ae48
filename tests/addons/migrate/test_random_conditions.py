"""Conditions at random: what they become is CEL that compiles, and both forms agree."""

import json
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartkit.addons.migrate.convert import convert
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.conditions.parse import OPERATORS
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource, Status
from tests.addons.migrate.conversions import policy

_FIELDS: Final = (
    *("element.image", "element.tty", "element.securityContext.runAsUser", "element.args"),
    *("element.resources.limits.memory", "element.resources.requests.cpu", "element.name"),
    *("element.securityContext.capabilities.drop", "element.ports[].hostPort"),
    *("request.object.metadata.labels.team", "request.object.metadata.labels", "request.namespace"),
    *("request.object.spec.volumes[?hostPath].name", "element.livenessProbe.httpGet.port"),
    *("request.object.spec.containers[*].name", "request.object.spec.hostNetwork"),
)
_DEFAULTS: Final = ("''", "'0'", "'a'", "`0`", "`5`", "`false`", "`true`", "`[]`", "`{}`")
_VALUES: Final = st.sampled_from(
    (*("", "a", "a*", "ALL", "1Gi", "500m", "0", "1h", "true"), *(0, 5, 1000, True, False))
)
_WRAPS: Final = ("{}", "{}", "{}", "!({})")
_QUERIES: Final = st.builds(
    lambda wrap, field, default: wrap.format(f"{field} || {default}" if default else field),
    st.sampled_from(_WRAPS),
    st.sampled_from(_FIELDS),
    st.sampled_from((*_DEFAULTS, *([""] * 4))),
)
_KEYS: Final = _QUERIES.map("{{{{ {} }}}}".format)
_CONDITIONS: Final = st.fixed_dictionaries(
    {
        "key": _KEYS,
        "operator": st.sampled_from(sorted(OPERATORS)),
        "value": st.one_of(_VALUES, st.lists(st.one_of(_VALUES, _KEYS), max_size=3), _KEYS),
    }
)
_CONTAINERS: Final[tuple[Body, ...]] = (
    {},
    {"resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "500m"}}, "tty": True},
    {"securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"]}}, "args": ["a"]},
    {"securityContext": {"runAsUser": 1000, "capabilities": {"drop": []}}, "env": [{"name": "a"}]},
    {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2}], "image": "a:1"},
    {"livenessProbe": {"httpGet": {"port": "a"}}, "tty": False},
    {"livenessProbe": {"httpGet": {"port": 5}}},
)
_TRIES: Final = 60


def _pods() -> list[Body]:
    metadata = {"name": "p", "namespace": "d"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, **({"labels": {"team": "a"}} if "tty" in container else {})},
            "spec": {
                "containers": [{"name": "a", "image": "a", **container}],
                **({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]} if container else {}),
            },
        }
        for container in _CONTAINERS
    ]


_PODS: Final = [Resource(body, Location("pod.yaml")) for body in _pods()]


@pytest.mark.slow
@settings(max_examples=_TRIES)
@given(st.lists(_CONDITIONS, min_size=1, max_size=2), st.sampled_from(("any", "all")))
def test_conditions_compile_and_agree(conditions: list[Body], block: str) -> None:
    loop = {"list": "request.object.spec.containers", "deny": {"conditions": {block: conditions}}}
    rule = json.dumps({"validate": {"message": "m", "foreach": [loop]}})
    legacy = Resource(policy(rule, "Pod"), Location("policy.yaml"))
    conversion = convert(legacy)
    (outcome,) = conversion.outcomes
    assert "is refused" not in outcome.reason
    if outcome.reason:
        return
    new = [Resource(body, Location("new.yaml")) for body in conversion.documents]
    forms = ([compile_policy(legacy)], [compile_cel_policy(each) for each in new])
    for pod in _PODS:
        refused = [
            any(
                result.status in (Status.FAIL, Status.ERROR)
                for result in evaluate(form, Request(pod))
            )
            for form in forms
        ]
        assert refused[0] == refused[1], (pod.body, conversion.documents[0]["spec"]["validations"])
