"""Contexts: what expressions see, deferred entries, children."""

import pytest

from chartkit.engine.context.context import (
    MAX_CONTEXT_SIZE,
    Context,
    Loader,
    QueryError,
    admission_context,
    merge,
    service_account,
    split_name,
)
from chartkit.engine.jmespath import compile_expression
from chartkit.errors import EvaluationError
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json

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


@pytest.mark.parametrize(
    ("username", "name", "namespace"),
    [
        ("system:serviceaccount:ns:sa", "sa", "ns"),
        ("system:serviceaccount:ns", "", ""),
        ("admin", "", ""),
        ("", "", ""),
    ],
)
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
