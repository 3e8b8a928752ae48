"""Apply configurations, merged as a server-side apply merges them."""

import pytest

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.values import Struct
from chartkit.engine.cel_policies.patches.apply_configuration import ApplyError, apply_configuration
from chartkit.engine.cel_policies.patches.written import Written
from chartkit.model import Body, Json
from tests.data import from_table, tables
from tests.errors import error_of

_POD: Body = tables(__file__)["pod"]


def _applied(fields: str, resource: Body = _POD, atomic: bool = False) -> Body:
    program = compile_expression(f"Object{{{fields}}}", ENVIRONMENTS["mpol"])
    value = program.evaluate({"object": resource})
    assert isinstance(value, Struct)
    return apply_configuration(value, resource, Written(program, {}), atomic)


def _spec(fields: str) -> str:
    return f"spec: Object.spec{{{fields}}}"


def _containers(*containers: str) -> str:
    made = ", ".join(f"Object.spec.containers{{{each}}}" for each in containers)
    return _spec(f"containers: [{made}]")


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ("metadata: Object.metadata{labels: {'a': 'b'}}",
         {"metadata": {**_POD["metadata"], "labels": {"app": "good", "a": "b"}}}),
        ("metadata: Object.metadata{finalizers: ['f/b', 'f/a']}",
         {"metadata": {**_POD["metadata"], "finalizers": ["f/b", "f/a"]}}),
        (_spec("priority: 5"), {"spec": {**_POD["spec"], "priority": 5}}),
        ("", {}),
    ],
)  # fmt: skip
def test_fields_are_merged(fields: str, changed: Body) -> None:
    assert _applied(fields) == {**_POD, **changed}


@from_table("containers", "wanted")
def test_elements_with_one_key_are_merged_in_the_order_of_the_configuration(
    containers: list[str], wanted: list[list[str]]
) -> None:
    made = _applied(_containers(*containers))["spec"]["containers"]
    assert [[each["name"], each["image"]] for each in made] == wanted


def test_a_key_has_its_default() -> None:
    port = "Object.spec.containers.ports{containerPort: 80, name: 'web'}"
    made = _applied(_containers(f"name: 'a', ports: [{port}]"))["spec"]["containers"][0]
    assert made["ports"] == [{"containerPort": 80, "protocol": "TCP", "name": "web"}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("nope: 'x'", "failed to convert patch object to typed object: "
         ".nope: field not declared in schema"),
        (_containers("name: 'a', nope: 1"), "failed to convert patch object to typed object: "
         '.spec.containers[name="a"].nope: field not declared in schema'),
        (_spec("tolerations: [Object.spec.tolerations{key: 'k'}]"), "invalid ApplyConfiguration: "
         "may not mutate atomic arrays, maps or structs: .spec.tolerations"),
        (_containers("name: 'a'", "name: 'a'"), "failed to convert patch object to typed object: "
         '.spec.containers: duplicate entries for key [name="a"]'),
        (_spec("hostNetwork: 'x'"), "failed to convert patch object to typed object: "
         ".spec.hostNetwork: expected boolean, got &{x}"),
        (_spec("priority: 'x'"), "failed to convert patch object to typed object: "
         ".spec.priority: expected numeric (int or float), got string"),
    ],
)  # fmt: skip
def test_what_the_schema_refuses_is_told_in_kubernetes_words(fields: str, message: str) -> None:
    assert str(error_of(ApplyError, _applied, fields)) == f"error applying patch: {message}"


@from_table("written", "shown")
def test_what_is_no_text_is_shown_as_go_shows_it(written: str, shown: str) -> None:
    with pytest.raises(ApplyError, match=r"\.spec\.nodeName: expected string, got ") as caught:
        _applied(_spec(f"nodeName: {written}"))
    assert str(caught.value).endswith(shown)


@from_table("fields", "message")
def test_lists_and_maps_that_an_expression_writes_are_no_fields(fields: str, message: str) -> None:
    assert str(error_of(ApplyError, _applied, fields)).endswith(message)


@from_table("fields", "changed")
def test_what_an_expression_reads_may_be_nested(fields: str, changed: Body) -> None:
    made = _applied(fields)
    assert {**made["metadata"], **made["spec"]} == {**_POD["metadata"], **_POD["spec"], **changed}


def test_a_name_that_is_not_the_fields_place_is_refused() -> None:
    assert str(error_of(ApplyError, _applied, "metadata: Object.metadta{labels: {'x': 'y'}}")) == (
        'type mismatch: unexpected type name "Object.metadta", expected "Object.metadata", '
        "which matches field name path from root Object type"
    )


def test_what_is_merged_as_a_whole_may_be_replaced_where_that_is_allowed() -> None:
    made = _applied(_spec("tolerations: [Object.spec.tolerations{key: 'k'}]"), atomic=True)
    assert made["spec"]["tolerations"] == [{"key": "k"}]


def test_a_kind_without_a_schema_has_its_maps_merged() -> None:
    resource: Body = {"apiVersion": "a.b/v1", "kind": "X", "spec": {"m": {"a": 1}, "l": [1]}}
    made = _applied("spec: Object.spec{m: Object.spec.m{b: 2}}", resource)
    assert made["spec"] == {"m": {"a": 1, "b": 2}, "l": [1]}


def test_the_object_that_is_mutated_stays_as_it_is() -> None:
    before: Json = repr(_POD)
    _applied(_containers("name: 'a', image: 'n'"))
    assert repr(_POD) == before
