from chartkit.engine.request import as_submitted
from chartkit.model import Body, Resource


def test_null_objects_are_empty() -> None:
    body: Body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "b", "labels": None, "finalizers": None},
        "spec": {"selector": {"matchLabels": None}, "list": [{"annotations": None}, None, 1]},
    }
    before = str(body)
    taken = as_submitted(Resource(body)).body
    assert taken["metadata"]["labels"] == {}
    assert taken["metadata"]["finalizers"] is None
    assert taken["spec"] == {
        "selector": {"matchLabels": {}},
        "list": [{"annotations": {}}, None, 1],
    }
    assert str(body) == before


def test_an_object_without_nulls_is_the_same() -> None:
    body: Body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "b"}, "l": [{}]}
    resource = Resource(body)
    assert as_submitted(resource) is resource


def test_it_gets_a_namespace() -> None:
    resource = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    assert as_submitted(resource, "x").namespace == "x"
