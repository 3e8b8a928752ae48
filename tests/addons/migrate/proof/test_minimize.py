"""Requests made small."""

from chartkit.addons.migrate.proof.minimize import minimized
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import base_case
from chartkit.model import Body

_POD: Body = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b", "c": "d"}},
    "spec": {
        "hostNetwork": True,
        "containers": [
            {"name": "one", "image": "registry.example/one:1"},
            {"name": "two", "image": "registry.example/two:latest", "tty": True},
        ],
    },
}


def test_only_what_makes_the_difference_is_left() -> None:
    def differs(case: Case) -> bool:
        containers = case.document["object"]["spec"]["containers"]
        return any(one.get("tty") for one in containers)

    small = minimized(base_case(_POD, "web.yaml"), differs)
    assert small.document == {
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x", "namespace": "x"},
            "spec": {
                "containers": [{"name": "x", "image": "registry.example/two:latest", "tty": True}]
            },
        },
        "operation": "CREATE",
    }
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
