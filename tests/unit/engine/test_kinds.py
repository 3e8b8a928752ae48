from __future__ import annotations

import pytest

from chartkit.engine.kinds import (
    GroupVersionKind,
    in_namespace,
    is_cluster_scoped,
    is_version,
    kind_of,
    parse_api_version,
    parse_kind_selector,
    resource_name,
)
from chartkit.model import Resource


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Pod", ("*", "*", "Pod", "")),
        ("*", ("*", "*", "*", "")),
        ("*/*", ("*", "*", "*", "*")),
        ("*/exec", ("*", "*", "*", "exec")),
        ("*/Pod", ("*", "*", "Pod", "")),
        ("v1/Pod", ("*", "v1", "Pod", "")),
        ("v1beta1/CronJob", ("*", "v1beta1", "CronJob", "")),
        ("Pod/status", ("*", "*", "Pod", "status")),
        ("Pod.status", ("*", "*", "Pod", "status")),
        ("apps/Deployment", ("*", "*", "apps", "Deployment")),
        ("apps/v1/Deployment", ("apps", "v1", "Deployment", "")),
        ("apps.v1.Deployment", ("apps", "v1", "Deployment", "")),
        ("v1/Pod/exec", ("*", "v1", "Pod", "exec")),
        ("apps/v1/Deployment/scale", ("apps", "v1", "Deployment", "scale")),
        ("apps/v1/Deployment.scale", ("apps", "v1", "Deployment", "scale")),
        ("a/b/c/d/e", ("", "", "", "")),
        ("/Pod", ("*", "*", "", "Pod")),
    ],
)
def test_kind_selectors(text: str, parts: tuple[str, str, str, str]) -> None:
    assert parse_kind_selector(text) == parts


@pytest.mark.parametrize("text", ["v1", "v1alpha1", "v2beta2", "*"])
def test_versions(text: str) -> None:
    assert is_version(text)


@pytest.mark.parametrize("text", ["apps", "v", "v1gamma1", "v12", ""])
def test_no_versions(text: str) -> None:
    assert not is_version(text)


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
