"""Requests as documents."""

from chartkit.addons.migrate.proof import case_of
from chartkit.engine import Operation, Request, User
from chartkit.model import Resource

_OBJECT = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})


def test_a_request_comes_back_from_its_document() -> None:
    user = User("jane", groups=("wheel",), roles=("x:r",), cluster_roles=("c",))
    request = Request(
        _OBJECT, old=_OBJECT, operation=Operation.UPDATE, user=user, namespace_labels={"a": "b"}
    )
    made = case_of(request).request()
    assert made.resource.body == made.old.body == _OBJECT.body if made.old else False
    assert (made.operation, made.user) == (Operation.UPDATE, user)
    assert made.namespace_labels == {"a": "b"}


def test_the_operation_of_a_test_s_values_counts() -> None:
    request = Request(_OBJECT, variables={"policy": {"request.operation": "DELETE"}})
    assert case_of(request).request().operation is Operation.DELETE


def test_without_a_user_it_is_a_background_scan() -> None:
    assert case_of(Request(_OBJECT)).is_background
