"""The shapes of Kubernetes' own kinds, and the kinds that rules name."""

import pytest

from chartkit.engine.cel.shapes import kinds_matched, shape_of
from chartkit.engine.cel.types import TypeKind
from chartkit.engine.kubernetes.field_faults import fields_of, known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind

POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def _type(kind: GroupVersionKind, *path: str) -> str:
    shape = shape_of(kind)
    assert shape is not None
    structs = {each.name: each for each in shape.structs}
    found = shape.type
    for name in path:
        while found.kind is not TypeKind.STRUCT:
            found = found.parameters[-1]
        fields = structs[found.name].fields
        assert fields is not None
        found = fields[name]
    return str(found)


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        (POD, "spec.containers", "list(core.v1.Container)"),
        (POD, "spec.containers.ports.containerPort", "int"),
        (POD, "spec.containers.resources.limits", "map(string, dyn)"),
        (POD, "spec.hostNetwork", "bool"),
        (POD, "metadata.labels", "map(string, string)"),
        (POD, "metadata.creationTimestamp", "dyn"),
        (DEPLOYMENT, "spec.template.spec.containers.image", "string"),
        (DEPLOYMENT, "spec.strategy.rollingUpdate.maxSurge", "dyn"),
        (GroupVersionKind("", "v1", "Secret"), "data", "map(string, dyn)"),
        (GroupVersionKind("batch", "v1", "CronJob"), "spec.jobTemplate.spec.parallelism", "int"),
    ],
)
def test_fields_of_kinds(kind: GroupVersionKind, path: str, expected: str) -> None:
    assert _type(kind, *path.split(".")) == expected


def test_fields_are_required_or_not() -> None:
    assert type_of_kind(POD) == "core.v1.Pod"
    fields = fields_of("core.v1.PodSpec")
    assert (fields["containers"].type, fields["containers"].required) == (
        "[]core.v1.Container",
        True,
    )
    assert not fields["initContainers"].required
    assert fields_of("core.v1.ResourceRequirements")["limits"].type == "{}quantity"
    assert fields_of("core.v1.ServicePort")["targetPort"].type == "int-or-string"
    assert fields_of("example.v1.Widget") == {}


def test_every_known_kind_has_a_whole_shape() -> None:
    kinds = list(known_kinds())
    assert len(kinds) > 90
    for kind in kinds:
        assert _type(kind, "metadata", "name") == "string", kind


def test_custom_kinds_and_lists_have_no_shape() -> None:
    assert shape_of(GroupVersionKind("example.com", "v1", "Pod")) is None
    assert shape_of(GroupVersionKind("", "v1", "PodList")) is None


def test_rules_name_kinds_by_their_resources() -> None:
    resources = ["pods", "deployments", "deployments/scale", "ingresses", "endpoints", "widgets"]
    assert kinds_matched(["apps", ""], ["v1"], resources) == (
        GroupVersionKind("", "v1", "Endpoints"),
        POD,
        DEPLOYMENT,
    )


def test_a_wildcard_names_no_kinds() -> None:
    assert kinds_matched(["*"], ["v1"], ["pods"]) == ()
    assert kinds_matched([""], ["*"], ["pods"]) == ()
    assert kinds_matched([""], ["v1"], ["*", "pods/*"]) == ()


def test_no_more_than_ten_kinds_are_named() -> None:
    resources = [f"{name}s" for name in ("pod", "secret", "service", "configmap", "node", "event")]
    resources += ["namespaces", "serviceaccounts", "limitranges", "bindings", "podtemplates"]
    assert len(kinds_matched([""], ["v1"], resources)) == 10
