"""Contexts: what expressions see, deferred entries, global entries, and the variable `images`."""

from collections.abc import Sequence
from typing import Any

import pytest

from chartkit.engine.cli_files.world import UserApi, UserGlobalContext, UserMocks
from chartkit.engine.cluster_policy.verify_images.signed import compile_extractors
from chartkit.engine.context.context import (
    MAX_CONTEXT_SIZE,
    NOTHING,
    Context,
    ImagesLoader,
    Loader,
    QueryError,
    admission_context,
    has_images,
    merge,
    service_account,
    split_name,
)
from chartkit.engine.context.global_context import read_global_context_entry
from chartkit.engine.context.images import extract_images
from chartkit.engine.jmespath import compile_expression
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.errors import CompileError, EvaluationError, LookupFailed
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json, Resource
from tests.data import from_table, tables
from tests.objects import api_object

POD: Body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}


class _Entry(Loader):
    """An entry that gives a value and counts how often it was asked."""

    def __init__(self, name: str, value: Json, *, replaces: bool = True) -> None:
        self.name = name
        self.value = value
        self.replaces = replaces
        self.cached = True
        self.fetched = 0

    def matches(self, query: str, /) -> bool:
        return self.name in query

    def fetch(self, context: Context, /) -> Json:
        self.fetched += 1
        if isinstance(self.value, EvaluationError):
            raise self.value
        if isinstance(self.value, str) and self.value.startswith("="):
            return context.query_text(self.value[1:])
        return self.value


def _query(context: Context, text: str) -> Json:
    return context.query(compile_expression(text))


def test_request_is_not_copied() -> None:
    context = admission_context(POD, namespace="ns1")
    assert context.data["request"]["object"] is POD
    assert _query(context, "request.namespace") == "ns1"
    assert _query(context, "request.operation") == "CREATE"


def test_missing_parts_of_a_request_are_unknown() -> None:
    context = admission_context(POD)
    with pytest.raises(
        QueryError, match=r'^JMESPath query failed: Unknown key "oldObject" in path'
    ):
        _query(context, "request.oldObject.spec")
    assert "serviceAccountName" not in context.data


def test_delete_has_only_the_old_object() -> None:
    context = admission_context(None, old=POD, operation="DELETE")
    assert context.is_delete
    assert "object" not in context.data["request"]


@from_table("username", "name", "namespace")
def test_service_account(username: str, name: str, namespace: str) -> None:
    expected = {"serviceAccountName": name, "serviceAccountNamespace": namespace}
    assert service_account(username) == expected


def test_entry_is_loaded_once_and_only_when_named() -> None:
    context = Context({"other": 1})
    entry = _Entry("x", {"a": 1})
    context.defer(entry)
    assert _query(context, "other") == 1
    assert entry.fetched == 0
    assert _query(context, "x.a") == 1
    assert _query(context, "x.a") == 1
    assert entry.fetched == 1


def test_failed_entry_is_unknown_the_second_time() -> None:
    context = Context({}).child()
    context.defer(_Entry("x", EvaluationError("no such thing")))
    with pytest.raises(EvaluationError, match="no such thing"):
        _query(context, "x")
    with pytest.raises(QueryError, match='Unknown key "x" in path'):
        _query(context, "x")


def test_later_entries_are_not_seen_by_earlier_ones() -> None:
    context = Context({}).child()
    context.defer(_Entry("first", "=second"))
    context.defer(_Entry("second", "value"))
    with pytest.raises(QueryError, match='Unknown key "second"'):
        _query(context, "first")


def test_earlier_entries_are_seen_by_later_ones() -> None:
    context = Context({}).child()
    context.defer(_Entry("first", "value"))
    context.defer(_Entry("second", "=first"))
    assert _query(context, "second") == "value"


def test_last_entry_of_a_name_wins() -> None:
    context = Context({}).child()
    context.defer(_Entry("x", "1"))
    context.defer(_Entry("x", "2"))
    assert _query(context, "x") == "2"


def test_merged_entry_keeps_what_was_there() -> None:
    given = {"a": {"b": 1}}
    context = Context({"x": given})
    context.defer(_Entry("x", {"a": {"c": 2}}, replaces=False))
    assert _query(context, "x.a") == {"b": 1, "c": 2}
    assert given == {"a": {"b": 1}}


def test_child_keeps_its_changes() -> None:
    parent = Context({"a": 1})
    child = parent.child()
    child.set_element("e", 3, 0)
    child.add_variables({"v.w": 5})
    assert "element" not in parent.data
    assert child.data["element0"] == "e"
    assert child.data["elementIndex"] == 3
    assert isinstance(child.data["elementIndex0"], Int64)
    assert child.data["v"] == {"w": 5}


def test_entry_of_the_parent_loaded_in_a_child_is_there_for_the_next() -> None:
    parent = Context({}).child()
    entry = _Entry("x", "value")
    parent.defer(entry)
    assert _query(parent.child(), "x") == "value"
    assert _query(parent.child(), "x") == "value"
    assert _query(parent, "x") == "value"
    assert entry.fetched == 1


def test_entry_of_a_child_is_unknown_to_the_parent() -> None:
    parent = Context({})
    child = parent.child()
    child.defer(_Entry("x", "value"))
    assert _query(child, "x") == "value"
    with pytest.raises(QueryError):
        _query(parent, "x")


def test_images_are_there_when_asked_for() -> None:
    pod = {**POD, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    context = admission_context(pod)
    assert "images" not in context.data
    assert _query(context, "images.containers.c.registry") == "docker.io"


def test_query_text_reports_what_is_wrong_with_the_text() -> None:
    context = Context({})
    with pytest.raises(QueryError, match=r"^invalid query \(nil\)$"):
        context.query_text("  ")
    with pytest.raises(QueryError, match=r"^incorrect query a b: SyntaxError"):
        context.query_text("a b")


def test_entries_may_not_be_too_large() -> None:
    context = Context({})
    context.count(MAX_CONTEXT_SIZE)
    with pytest.raises(QueryError, match="context size limit exceeded: 2097153 bytes"):
        context.count(1)


def test_merge_changes_nothing() -> None:
    base = {"a": {"b": 1}, "c": 2}
    assert merge(base, {"a": {"d": 3}, "c": {}}) == {"a": {"b": 1, "d": 3}, "c": {}}
    assert base == {"a": {"b": 1}, "c": 2}


@pytest.mark.parametrize(
    ("name", "parts"), [("a", ("a",)), ("a.b.c", ("a", "b", "c")), ('a."b.c"', ("a", "b.c"))]
)
def test_split_name(name: str, parts: tuple[str, ...]) -> None:
    assert split_name(name) == parts


RESOURCE = {"group": "apps", "version": "v1", "resource": "deployments"}


def _entry(version: str = "v2beta1", **spec: Any) -> Resource:
    return Resource(api_object(f"kyverno.io/{version}", "GlobalContextEntry", "e", spec=spec))


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


@from_table("spec", "fault")
def test_global_context_refusals(spec: Body, fault: str) -> None:
    with pytest.raises(CompileError) as caught:
        read_global_context_entry(_entry(**spec))
    assert any(fault in one.message for one in caught.value.diagnostics)


def test_global_context_versions_that_are_not_served() -> None:
    with pytest.raises(CompileError, match="does not serve"):
        read_global_context_entry(_entry("v1", kubernetesResource=RESOURCE))


def _pod(**spec: Json) -> Body:
    return {"kind": "Pod", "spec": spec}


def test_images_of_a_pod() -> None:
    pod = _pod(
        containers=[{"name": "web", "image": "ghcr.io/org/web:v1"}, {"name": "none"}],
        initContainers=[{"name": "init", "image": "busybox"}],
    )
    images = extract_images(pod)
    assert images["containers"] == tables(__file__)["images_of_a_pod"]
    assert images["initContainers"]["init"]["reference"] == "docker.io/busybox:latest"
    assert "ephemeralContainers" not in images


@from_table("kind", "steps")
def test_images_of_controllers(kind: str, steps: list[str]) -> None:
    body: Json = {"containers": [{"name": "c", "image": "a"}]}
    for step in reversed(steps):
        body = {step: body}
    resource = {"kind": kind, **body}
    assert has_images(resource)
    pointer = extract_images(resource)["containers"]["c"]["jsonPointer"]
    assert pointer == "/" + "/".join(steps) + "/containers/0/image"


def test_other_kinds_have_none() -> None:
    resource = {"kind": "ConfigMap", "spec": {"containers": [{"name": "c", "image": "a"}]}}
    assert not has_images(resource)
    assert ImagesLoader(resource).fetch(Context({})) is NOTHING


@pytest.mark.parametrize("kind", [None, 1, 1.5, True, [], ["Pod"], {}, {"kind": "Pod"}])
def test_a_kind_that_is_no_text_has_none(kind: Json) -> None:
    """JSON that is not an object of Kubernetes' may have anything there."""
    resource = {"kind": kind, "spec": {"containers": [{"name": "c", "image": "a"}]}}
    assert not has_images(resource)
    assert extract_images(resource) == {}
    extract = compile_extractors({"Pod": [{"path": "/spec/containers/*/image"}]})
    assert extract(resource) == {}


@from_table("containers", "message")
def test_images_faults(containers: Json, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        extract_images(_pod(containers=containers))


def test_containers_that_are_no_objects_are_passed_over() -> None:
    container = {"name": "c", "image": "a"}
    images = extract_images(_pod(containers=["x", None, 5, [[container]], container]))
    assert images["containers"]["c"]["jsonPointer"] == "/spec/containers/4/image"
    images = extract_images(_pod(containers={"x": "y", "z": container}))
    assert images["containers"]["c"]["jsonPointer"] == "/spec/containers/z/image"


@from_table("query", "names")
def test_images_matches(query: str, names: bool) -> None:
    assert ImagesLoader({}).matches(query) is names
