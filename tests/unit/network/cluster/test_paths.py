"""Paths of objects of an API server, whatever these are called."""

from urllib.parse import unquote

import pytest
from urllib3.util import parse_url

from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.network.cluster.client import CRDS, Collection, object_path
from chartkit.network.cluster.reader import ApiResource

_PODS = ApiResource(GroupVersionKind("", "v1", "Pod"), "pods", namespaced=True)
_NAMES = (
    "../../secrets/x",
    "a/b",
    "..",
    ".",
    "a?dryRun=All",
    "a#b",
    "a%2fb",
    "a\r\nHost: b",
    "ü",
    "\ud800",
)


@pytest.mark.parametrize("name", _NAMES)
def test_a_name_is_one_segment(name: str) -> None:
    for path in (
        object_path("v1", "pods", name, name),
        _PODS.path(name, name),
        Collection("", "v1", "pods").path(name, name),
    ):
        sent = parse_url(f"https://127.0.0.1:1{path}")
        assert sent.query is None
        assert sent.fragment is None
        _, _, version, _, namespace, plural, last = (sent.path or "").split("/")
        assert (version, plural) == ("v1", "pods")
        assert unquote(namespace) == unquote(last) == name.replace("\ud800", "?")


def test_paths_of_objects() -> None:
    assert object_path("apps/v1", "deployments") == "/apis/apps/v1/deployments"
    assert CRDS.path(name="a.b") == ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b")
    assert _PODS.path("ns", "system:a") == "/api/v1/namespaces/ns/pods/system:a"
