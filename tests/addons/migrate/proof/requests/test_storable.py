"""Objects that an API server stores, and those that it refuses."""

import pytest

from chartkit.addons.migrate.proof.requests.schema import TEMPLATED, as_controller, least_object
from chartkit.addons.migrate.proof.requests.storable import refusals
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Body

_POD = GroupVersionKind("", "v1", "Pod")
_KINDS = [
    _POD,
    *TEMPLATED,
    GroupVersionKind("", "v1", "Service"),
    GroupVersionKind("", "v1", "Namespace"),
    GroupVersionKind("", "v1", "ConfigMap"),
    GroupVersionKind("networking.k8s.io", "v1", "Ingress"),
    GroupVersionKind("networking.k8s.io", "v1", "NetworkPolicy"),
    GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    GroupVersionKind("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    GroupVersionKind("policy", "v1", "PodDisruptionBudget"),
    GroupVersionKind("example.com", "v1", "Thing"),
]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.kind)
def test_the_least_object_of_a_kind_is_stored(kind: GroupVersionKind) -> None:
    assert list(refusals(least_object(kind))) == []


@pytest.mark.parametrize("kind", list(TEMPLATED), ids=lambda kind: kind.kind)
def test_a_pod_in_a_controller_is_stored(kind: GroupVersionKind) -> None:
    assert list(refusals(as_controller(least_object(_POD), kind))) == []


def _pod(**spec: object) -> Body:
    pod = least_object(_POD)
    return {**pod, "spec": {**pod["spec"], **spec}}


_CONTAINER = {"name": "app", "image": "x"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (_pod(containers=[]), "missing required fields"),
        (_pod(containers=[{"name": "app"}]), "missing required fields"),
        (_pod(volumes=[{"name": "v", "secret": {"secretName": ""}}]), "missing required fields"),
        (_pod(volumes=[{"name": "v", "configMap": {}}]), "missing required fields"),
        (_pod(containers=[_CONTAINER, _CONTAINER]), "two elements of one name"),
        (_pod(containers=[_CONTAINER], initContainers=[_CONTAINER]), "two elements of one name"),
        (
            _pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
            "several fields of which one excludes the others",
        ),
        (_pod(hostNetwork="true"), "fields of another type"),
        (
            {**least_object(GroupVersionKind("", "v1", "Secret")), "data": {"a": 1}},
            "fields of another type",
        ),
        (_pod(hostNetwork=None), "null, which decoding drops"),
        (_pod(priority=True), "fields of another type"),
        (_pod(noSuchField=1), "fields that the kind does not have"),
        (_pod(restartPolicy="Sometimes"), "values outside a field's set"),
        (_pod(overhead={"cpu": "many"}), "invalid quantities"),
        (_pod(activeDeadlineSeconds=-1), "negative numbers"),
        ({**_pod(), "metadata": {"name": "Upper", "namespace": "x"}}, "invalid names"),
        (
            {**_pod(), "metadata": {"name": "", "generateName": "x", "namespace": "x"}},
            "invalid names",
        ),
        ({**_pod(), "metadata": {"name": "x"}}, "invalid namespaces"),
        (
            {**_pod(), "metadata": {"name": "x", "namespace": "x", "deletionTimestamp": {}}},
            "times of another type",
        ),
        (
            {**_pod(), "metadata": {"name": "x", "namespace": "x", "labels": {"a": "b/c"}}},
            "invalid labels",
        ),
    ],
)
def test_what_no_api_server_stores_is_refused(body: Body, reason: str) -> None:
    assert reason in list(refusals(body))
