"""GlobalContextEntries: what they hold, their projections, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from chartkit.engine.cli_files.user_values import UserLookups
from chartkit.engine.context.global_context import read_global_context_entry
from chartkit.engine.ports.cluster import Cluster
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


def _lookups(entry: Resource, *objects: Body, **given: Any) -> UserLookups:
    entries = [read_global_context_entry(entry)]
    return UserLookups(cluster=Cluster(objects), context_entries=entries, **given)


@pytest.mark.parametrize("version", ["v2", "v2beta1", "v2alpha1"])
def test_objects_and_their_projection(version: str) -> None:
    names = {"name": "names", "jmesPath": "[].metadata.name"}
    entry = _entry(version, kubernetesResource=RESOURCE, projections=[names])
    lookups = _lookups(entry, _deployment("b", "y"), _deployment("a", "x"))
    assert lookups.global_context("e", "names") == ["a", "b"]
    assert len(lookups.global_context("e", "")) == 2
    with pytest.raises(LookupFailed, match='projection "more" not found'):
        lookups.global_context("e", "more")


def test_objects_of_one_namespace() -> None:
    entry = _entry(kubernetesResource={**RESOURCE, "namespace": "x"})
    lookups = _lookups(entry, _deployment("b", "y"), _deployment("a", "x"))
    assert [one["metadata"]["name"] for one in lookups.global_context("e", "")] == ["a"]


def test_a_call_with_a_recorded_answer() -> None:
    entry = _entry(apiCall={"urlPath": "/things"})
    answer = {"urlPath": "/things", "response": {"body": {"n": 1}}}
    assert _lookups(entry, api_calls=[answer]).global_context("e", "") == {"n": 1}


def test_a_call_that_fails_or_has_no_answer() -> None:
    entry = _entry(apiCall={"service": {"url": "https://example.com"}})
    answer = {"url": "https://example.com", "response": {"statusCode": 500}}
    with pytest.raises(LookupFailed, match="HTTP 500"):
        _lookups(entry, api_calls=[answer]).global_context("e", "")
    with pytest.raises(LookupFailed, match="no data available"):
        _lookups(entry).global_context("e", "")


def test_a_projection_that_fails() -> None:
    projection = {"name": "p", "jmesPath": "to_upper(@)"}
    entry = _entry(kubernetesResource=RESOURCE, projections=[projection])
    with pytest.raises(LookupFailed, match='failed to apply projection "p"'):
        _lookups(entry).global_context("e", "p")


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
def test_what_is_refused(spec: Body, fault: str) -> None:
    with pytest.raises(CompileError) as caught:
        read_global_context_entry(_entry(**spec))
    assert any(fault in one.message for one in caught.value.diagnostics)


def test_versions_that_are_not_served() -> None:
    with pytest.raises(CompileError, match="does not serve"):
        read_global_context_entry(_entry("v1", kubernetesResource=RESOURCE))
