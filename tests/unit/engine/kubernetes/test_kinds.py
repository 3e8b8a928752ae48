import pytest

from chartkit.engine.kubernetes.kinds import (
    GroupVersionKind,
    in_namespace,
    is_cluster_scoped,
    kind_of,
    parse_api_version,
    resource_name,
)
from chartkit.model import Resource


def test_api_version_parts() -> None:
    assert parse_api_version("apps/v1") == ("apps", "v1")
    assert parse_api_version("v1") == ("", "v1")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
        ("Gateway", "gateways"),
        ("Policy", "policies"),
        ("Index", "indexes"),
    ],
)
def test_resource_names(kind: str, name: str) -> None:
    assert resource_name(kind) == name


def test_an_object_without_a_namespace_goes_to_default() -> None:
    given = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    assert in_namespace(given).namespace == "default"
    assert given.namespace == "", "the document that came in is never changed"


def test_cluster_scoped_objects_have_no_namespace() -> None:
    given = Resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    assert in_namespace(given) is given
    assert is_cluster_scoped(kind_of(given))


def test_custom_kinds_count_as_namespaced() -> None:
    assert not is_cluster_scoped(GroupVersionKind("example.com", "v1", "Namespace"))


def test_metadata_of_the_wrong_type_is_left_alone() -> None:
    given = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": "x"})
    assert in_namespace(given) is given
