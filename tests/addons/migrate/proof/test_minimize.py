"""Requests as documents, and made small."""

from chartkit.addons.migrate.proof import case_of
from chartkit.addons.migrate.proof.minimize import minimized
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import base_case
from chartkit.engine import Operation, Request, User
from chartkit.model import Body, Resource
from tests.data import tables

_POD: Body = tables(__file__)["pod"]


def test_only_what_makes_the_difference_is_left() -> None:
    def differs(case: Case) -> bool:
        containers = case.document["object"]["spec"]["containers"]
        return any(one.get("tty") for one in containers)

    small = minimized(base_case(_POD, "web.yaml"), differs)
    assert small.document == tables(__file__)["only_what_makes_the_difference_is_left"]
    assert small.origin == "web.yaml"


def test_an_update_stays_one_where_the_old_object_counts() -> None:
    document = {**base_case(_POD, "").document, "operation": "UPDATE", "oldObject": _POD}

    def differs(case: Case) -> bool:
        return bool(case.document.get("oldObject"))

    small = minimized(Case(document), differs).document
    assert small["operation"] == "UPDATE"
    assert "labels" not in small["oldObject"]["metadata"]


def test_the_number_of_tries_is_bounded() -> None:
    tries = 0

    def differs(_case: Case) -> bool:
        nonlocal tries
        tries += 1
        return False

    minimized(base_case(_POD, ""), differs, most=5)
    assert tries == 5


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
