"""Kinds and fields of objects that an API server does not have."""

import pytest

from chartkit.engine.kubernetes.field_faults import NEWEST, OLDEST, kind_table, minor_of
from chartkit.model import Body, Diagnostic, Resource, Severity
from chartkit.scan.custom_resources.definitions import read_definitions
from chartkit.scan.ineffective import ObjectFaults
from tests.data import from_table, tables

_TABLES = tables(__file__)

_DEFINITION: Body = _TABLES["definition"]


def _found(*bodies: Body, minor: int = NEWEST) -> list[Diagnostic]:
    faults = ObjectFaults(minor, read_definitions([Resource(_DEFINITION)]))
    faults.add(map(Resource, bodies))
    return list(faults.diagnostics())


def _of_kind(api_version: str, kind: str, minor: int = NEWEST) -> list[tuple[str, str | None]]:
    rows = _found({"apiVersion": api_version, "kind": kind}, minor=minor)
    assert {row.severity for row in rows} <= {Severity.WARNING}
    return [(row.message, row.hint) for row in rows]


@from_table("api_version", "kind", "why", "hint")
def test_an_unknown_or_removed_kind_is_a_warning(
    api_version: str, kind: str, why: str, hint: str | None
) -> None:
    message = f"Kubernetes 1.37 does not serve {kind} of {api_version}{why}"
    assert _of_kind(api_version, kind) == [(message, hint)]


@from_table("api_version", "kind")
def test_other_kinds_are_not_named(api_version: str, kind: str) -> None:
    assert not _of_kind(api_version, kind)


@from_table("api_version", "kind", "minor", "message")
def test_the_version_decides_which_kinds_are_served(
    api_version: str, kind: str, minor: int, message: str
) -> None:
    assert [text for text, _ in _of_kind(api_version, kind, minor)] == [message][: bool(message)]


@from_table("minor", "messages")
def test_the_version_decides_which_fields_there_are(minor: int, messages: list[str]) -> None:
    container = {"name": "a", "lifecycle": {"preStop": {"sleep": {}}, "stopSignal": "SIGINT"}}
    claims = [{"name": "a", "source": {"resourceClaimName": "x"}}]
    spec = {"containers": [container], "resourceClaims": claims}
    rows = _found({"apiVersion": "v1", "kind": "Pod", "spec": spec}, minor=minor)
    assert [row.message for row in rows] == messages


def test_a_field_that_its_kind_does_not_have_is_one_warning_with_the_number_of_objects() -> None:
    containers = [{"name": "a", "securtyContext": {}}, {"name": "b", "securtyContext": {}}]
    body: Body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"hostNetwok": True, "hostPID": "true", "containers": containers},
    }
    rows = _found(body, body, {**body, "spec": {"hostNetwok": True}})
    assert [(row.message, row.hint) for row in rows] == [
        (
            "Pod: spec.hostNetwok is not a field of Kubernetes 1.37; 3 objects",
            "did you mean 'hostNetwork'?",
        ),
        ("Pod: spec.hostPID is a string, must be a boolean; 2 objects", None),
        (
            "Pod: spec.containers[0].securtyContext is not a field of Kubernetes 1.37; 2 objects",
            "did you mean 'securityContext'?",
        ),
    ]


def test_fields_of_custom_kinds_are_those_of_the_definition() -> None:
    body: Body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"color": "red"}}
    (row,) = _found(body, {**body, "spec": {"colour": "red"}})
    assert (row.message, row.hint) == (
        "Widget: spec.color is not a field of example.com/v1",
        "did you mean 'colour'?",
    )


def test_faults_of_parts_are_those_of_the_whole() -> None:
    body: Body = {"apiVersion": "v1", "kind": "Pod", "spec": {"hostNetwok": True}}
    first, second = ObjectFaults(), ObjectFaults()
    first.add([Resource(body)])
    second.add([Resource(body), Resource({"apiVersion": "v1", "kind": "Pud"})])
    first.join(second)
    messages = [row.message for row in first.diagnostics()]
    assert messages[0].endswith("1.37; 2 objects")
    assert messages[1:] == ["Kubernetes 1.37 does not serve Pud of v1"]


def test_many_faults_are_counted() -> None:
    rows = _found({"apiVersion": "v1", "kind": "Pod", "spec": {f"x{n}y": 1 for n in range(150)}})
    assert rows[-1].message == "50 more kinds and fields like these"
    assert len(rows) == 101


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("v1.34.0-eks", 34),
        ("1.30", 30),
        ("1.99", NEWEST),
        ("1.9", OLDEST),
        ("latest", NEWEST),
        (None, NEWEST),
    ],
)
def test_a_version_of_kubernetes_is_one_of_the_table(text: str | None, minor: int) -> None:
    assert minor_of(text) == minor


def test_the_newest_version_is_that_of_the_table() -> None:
    assert kind_table()["source"] == f"Kubernetes 1.{NEWEST}.0"
