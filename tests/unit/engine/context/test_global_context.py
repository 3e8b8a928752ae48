"""GlobalContextEntries: what they hold, their projections, and what is wrong with them."""

from collections.abc import Sequence
from typing import Any

import pytest

from chartkit.engine.cli_files.world import UserApi, UserGlobalContext, UserMocks
from chartkit.engine.context.global_context import read_global_context_entry
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.errors import CompileError, LookupFailed
from chartkit.model import Body, Resource

RESOURCE = {"group": "apps", "version": "v1", "resource": "deployments"}


def _entry(version: str = "v2beta1", **spec: Any) -> Resource:
    return Resource(
        {
            "apiVersion": f"kyverno.io/{version}",
            "kind": "GlobalContextEntry",
            "metadata": {"name": "e"},
            "spec": spec,
        }
    )


def _deployment(name: str, namespace: str) -> Body:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def _entries(entry: Resource, *objects: Body, api_calls: Sequence[Body] = ()) -> UserGlobalContext:
    world = World(UserApi(Cluster(objects)), mocks=UserMocks(api_calls=api_calls))
    return UserGlobalContext(entries=[read_global_context_entry(entry)], world=world)


@pytest.mark.parametrize("version", ["v2", "v2beta1", "v2alpha1"])
def test_objects_and_their_projection(version: str) -> None:
    names = {"name": "names", "jmesPath": "[].metadata.name"}
    entry = _entry(version, kubernetesResource=RESOURCE, projections=[names])
    entries = _entries(entry, _deployment("b", "y"), _deployment("a", "x"))
    assert entries.data("e", "names") == ["a", "b"]
    assert len(entries.data("e", "")) == 2
    with pytest.raises(LookupFailed, match='projection "more" not found'):
        entries.data("e", "more")


def test_objects_of_one_namespace() -> None:
    entry = _entry(kubernetesResource={**RESOURCE, "namespace": "x"})
    entries = _entries(entry, _deployment("b", "y"), _deployment("a", "x"))
    assert [one["metadata"]["name"] for one in entries.data("e", "")] == ["a"]


def test_a_call_with_a_recorded_answer() -> None:
    entry = _entry(apiCall={"urlPath": "/things"})
    answer = {"urlPath": "/things", "response": {"body": {"n": 1}}}
    assert _entries(entry, api_calls=[answer]).data("e", "") == {"n": 1}


def test_a_call_that_fails_or_has_no_answer() -> None:
    entry = _entry(apiCall={"service": {"url": "https://example.com"}})
    answer = {"url": "https://example.com", "response": {"statusCode": 500}}
    with pytest.raises(LookupFailed, match="HTTP 500"):
        _entries(entry, api_calls=[answer]).data("e", "")
    with pytest.raises(LookupFailed, match="no data available"):
        _entries(entry).data("e", "")


def test_a_projection_that_fails() -> None:
    projection = {"name": "p", "jmesPath": "to_upper(@)"}
    entry = _entry(kubernetesResource=RESOURCE, projections=[projection])
    with pytest.raises(LookupFailed, match='failed to apply projection "p"'):
        _entries(entry).data("e", "p")


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({}, "must have exactly one of kubernetesResource, apiCall"),
        ({"kubernetesResource": RESOURCE, "apiCall": {"urlPath": "/a"}}, "must have exactly one"),
        ({"kubernetesResource": {"version": "v1beta1", "resource": "a"}}, "requires a group"),
        ({"kubernetesResource": {"version": "v1"}}, "spec.kubernetesResource.resource"),
        ({"kubernetesResource": {"version": "v1", "resource": ""}}, "requires a resource"),
        ({"apiCall": {}}, "either have Service or URLPath"),
        ({"apiCall": {"urlPath": "/a", "refreshInterval": "0s"}}, "refresh interval"),
        ({"apiCall": {"urlPath": "/a", "refreshInterval": "x"}}, "refresh interval"),
        ({"apiCall": {"urlPath": "/a", "data": []}}, "method as POST"),
        ({"kubernetesResource": RESOURCE, "projections": [{"name": "e", "jmesPath": "@"}]}, "diff"),
        ({"kubernetesResource": RESOURCE, "projections": [{"name": "", "jmesPath": "@"}]}, "name"),
        ({"kubernetesResource": RESOURCE, "projections": [{"name": "p", "jmesPath": "("}]}, "Path"),
        ({"kubernetesResource": RESOURCE, "more": 1}, "unknown field"),
    ],
)
def test_global_context_refusals(spec: Body, fault: str) -> None:
    with pytest.raises(CompileError) as caught:
        read_global_context_entry(_entry(**spec))
    assert any(fault in one.message for one in caught.value.diagnostics)


def test_global_context_versions_that_are_not_served() -> None:
    with pytest.raises(CompileError, match="does not serve"):
        read_global_context_entry(_entry("v1", kubernetesResource=RESOURCE))
