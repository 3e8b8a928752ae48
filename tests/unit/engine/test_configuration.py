"""Kyverno's ConfigMap: which requests it keeps away, as `ToFilter` and `parseKinds` have it."""

import json

import pytest

from chartkit.engine.configuration import parse_resource_filters, read_configuration
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Body, Resource

POD = GroupVersionKind("", "v1", "Pod")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


@pytest.mark.parametrize(
    ("text", "kind", "subresource", "namespace", "name", "left_out"),
    [
        ("[Pod,*,*]", POD, "", "a", "b", True),
        ("[Pod,*,*]", POD, "", "a", "", True),
        ("[Pod,*,*]", POD, "exec", "a", "b", False),
        ("[Pod/*,*,*]", POD, "exec", "a", "b", True),
        ("[Pod/*,*,*]", POD, "", "a", "b", True),
        ("[Pod/?*,*,*]", POD, "", "a", "b", False),
        ("[Pod/?*,*,*]", POD, "exec", "a", "b", True),
        ("[Pod.exec,*,*]", POD, "exec", "a", "b", True),
        ("[*/exec,*,*]", POD, "exec", "a", "b", True),
        ("[*/exec,*,*]", POD, "", "a", "b", False),
        ("[*,*,*]", POD, "", "a", "b", True),
        ("[*,*,*]", POD, "exec", "a", "b", False),
        ("[*/*,kube-*,*]", DEPLOYMENT, "scale", "kube-system", "b", True),
        ("[*/*,kube-*,*]", DEPLOYMENT, "", "kube", "b", False),
        ("[v1/Pod,*,*]", POD, "", "a", "b", True),
        ("[v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", True),
        ("[apps/v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", True),
        ("[batch/v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", False),
        ("[*/v1/Deployment,*,*]", DEPLOYMENT, "", "a", "b", False),
        ("[v1/Deployment/scale,*,*]", DEPLOYMENT, "scale", "a", "b", True),
        ("[apps/v1/Deployment/scale,*,*]", DEPLOYMENT, "scale", "a", "b", True),
        ("[apps/v1/Deployment/scale,*,*]", DEPLOYMENT, "", "a", "b", False),
        ("[a/b/c/d/e,*,*]", POD, "", "a", "b", False),
        # Without a namespace or a name the filter has empty ones, which are not wildcards.
        ("[Pod]", POD, "", "a", "b", False),
        ("[Pod,a]", POD, "", "a", "b", False),
        ("[Pod,a]", POD, "", "a", "", True),
        ("[,a,b]", POD, "", "a", "b", False),
        ("[Pod,a,b,c]", POD, "", "a", "b", False),
        ("[Pod, a,b]", POD, "", "a", "b", False),
        ("[pod,*,*]", POD, "", "a", "b", False),
        ("Pod,*,*", POD, "", "a", "b", False),
        ("[Pod,*,n-?]", POD, "", "a", "n-1", True),
        ("[Pod,*,n-?]", POD, "", "a", "n-", False),
        # A namespace is left out by name and by its own name in the namespace's place.
        ("[*/*,kube-system,*]", NAMESPACE, "", "kube-system", "kube-system", True),
        ("[*/*,kube-system,*]", NAMESPACE, "", "", "kube-system", True),
        ("[*/*,kube-system,x]", NAMESPACE, "", "", "kube-system", True),
        ("[Pod,kube-system,*]", NAMESPACE, "", "", "kube-system", False),
        ("[Namespace,*,a]", NAMESPACE, "", "a", "a", True),
        ("[Namespace,,*]", NAMESPACE, "", "", "a", True),
    ],
)
def test_resource_filters(
    text: str, kind: GroupVersionKind, subresource: str, namespace: str, name: str, left_out: bool
) -> None:
    found = parse_resource_filters(text)
    about = [each for each in found if each.is_about(kind, subresource)]
    assert any(each.leaves_out(kind, namespace, name) for each in about) is left_out


@pytest.mark.parametrize(
    "text", ["[Event,*,*][Pod,*,*]", "[Event,*,*] [Pod,*,*]\n", "x[Event,*,*],\n- [Pod,*,*]y"]
)
def test_what_stands_between_filters_is_passed_over(text: str) -> None:
    assert [each.text for each in parse_resource_filters(text)] == ["[Event,*,*]", "[Pod,*,*]"]


def _pod(namespace: str = "shop", labels: Body | None = None) -> Resource:
    metadata = {"name": "a", "namespace": namespace, "labels": labels or {}}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def _unsent(resource: Resource, labels: dict[str, str] | None = None, **data: object) -> list[str]:
    texts = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in data.items()
    }
    return [str(each) for each in read_configuration(texts).unsent(resource, labels)]


NOT_SYSTEM = {
    "namespaceSelector": {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
        ]
    }
}
ENABLED = {"namespaceSelector": {"matchLabels": {"kyverno": "on"}}}


def test_a_namespace_is_known_by_its_name() -> None:
    assert _unsent(_pod(), webhooks=NOT_SYSTEM) == []
    text = "namespaceSelector kubernetes.io/metadata.name NotIn [kube-system]"
    assert _unsent(_pod("kube-system"), webhooks=NOT_SYSTEM) == [text]
    # A list, as older charts wrote it, Kyverno does not read.
    assert _unsent(_pod("kube-system"), webhooks=[NOT_SYSTEM]) == []
    namespace = Resource(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
    )
    assert _unsent(namespace, webhooks=NOT_SYSTEM) == [text]
    role = Resource({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"})
    assert _unsent(role, webhooks=NOT_SYSTEM) == []


def test_labels_that_nobody_knows_send_a_request() -> None:
    assert _unsent(_pod(), None, webhooks=ENABLED) == []
    assert _unsent(_pod(), {"kyverno": "on"}, webhooks=ENABLED) == []
    assert _unsent(_pod(), {}, webhooks=ENABLED) == ["namespaceSelector kyverno=on"]


def test_an_object_selector_looks_at_the_object() -> None:
    wanted = {"objectSelector": {"matchLabels": {"a": "b"}}}
    assert _unsent(_pod(), webhooks=wanted) == ["objectSelector a=b"]
    assert _unsent(_pod(labels={"a": "b"}), webhooks=wanted) == []


def test_configuration_match_conditions() -> None:
    conditions = [
        {"name": "no-shop", "expression": "request.namespace != 'shop'"},
        {"name": "no-nodes", "expression": "!('system:nodes' in request.userInfo.groups)"},
        {"name": "unknown", "expression": "object.spec.x.y == 1"},
    ]
    assert _unsent(_pod(), matchConditions=conditions) == ["matchConditions no-shop"]
    assert _unsent(_pod("other"), matchConditions=conditions) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        '{"namespaceSelector": 3}',
        '{"namespaceSelector": {"matchExpressions": [1]}}',
    ],
)
def test_what_kyverno_cannot_read_keeps_nothing_away(text: str) -> None:
    assert _unsent(_pod(), webhooks=text, matchConditions=text) == []
