"""MutatingPolicy: what becomes of objects, and JSON patches that expressions make."""

from typing import Any

import pytest

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel_policies.checks import without_effect
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.patches.apply_configuration import ApplyError
from chartkit.engine.cel_policies.patches.json_patch import apply_json_patch
from chartkit.engine.cel_policies.policy import read_cel_policy
from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserMocks
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation, Request
from chartkit.errors import CompileError
from chartkit.model import Body, Location, Resource
from tests.data import from_table
from tests.errors import error_of
from tests.objects import api_object
from tests.unit.engine.cel_policies.policies import (
    about,
    conditions,
    deployment,
    exception,
    pod,
    policy,
    results,
    said,
    variables,
)

_APPLYING = "error applying patch: failed to convert patch object to typed object: "
_NO_KIND = "Internal error occurred: Object 'Kind' is missing in "
ALONE: Body = {"podControllers": {"controllers": []}}
CONFIG: Body = api_object("v1", "ConfigMap", "default/c")


def apply(text: str) -> Body:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def patch(text: str) -> Body:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def label(value: str) -> Body:
    return apply(f"Object{{metadata: Object.metadata{{labels: {{'x': {value}}}}}}}")


def mutating(*mutations: Body, **spec: Any) -> Resource:
    """A MutatingPolicy about Pods alone."""
    spec.setdefault("autogen", ALONE)
    return policy("MutatingPolicy", mutations=list(mutations), **spec)


def labels(found: Resource, subject: Resource | None = None, **given: Any) -> Any:
    (result,) = results(found, subject, **given)
    assert result.patched is not None, result.message
    return result.patched["metadata"].get("labels")


@pytest.mark.parametrize(
    ("mutations", "expected"),
    [
        ([label("'y'")], {"x": "y"}),
        ([label("'y'"), label("object.metadata.labels.x + '!'")], {"x": "y!"}),
        (
            [patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'q': '1'}}]")],
            {"q": "1"},
        ),
        (
            [
                patch("[JSONPatch{op: 'test', path: '/kind', value: 'x'}]"),
                label("string(request.object.kind)"),
            ],
            {"x": "Pod"},
        ),
        ([label("variables.v")], {"x": "web-v"}),
    ],
)
def test_mutating_mutations(mutations: list[Body], expected: Body) -> None:
    named = variables(v="object.metadata.name + '-v'")
    assert labels(mutating(*mutations, variables=named)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (mutating(label("'y'"), matchConditions=conditions("false")), ("skip", "skip")),
        (
            mutating(
                label("'y'"), matchConditions=conditions("object.nope == 1"), failurePolicy="Ignore"
            ),
            ("error", "failed to evaluate policy: no such key: nope"),
        ),
        (
            mutating(patch("[JSONPatch{op: 'remove', path: '/nope'}]")),
            (
                "error",
                "failed to evaluate policy: JSON Patch: error in remove for path: '/nope': Unable "
                "to remove nonexistent key: nope: missing value",
            ),
        ),
        (
            mutating(
                apply("Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'k'}]}}")
            ),
            (
                "error",
                "failed to evaluate policy: error applying patch: invalid ApplyConfiguration: may "
                "not mutate atomic arrays, maps or structs: .spec.tolerations",
            ),
        ),
    ],
)
def test_mutating_what_changes_nothing(found: Resource, expected: tuple[str, str]) -> None:
    assert said(found) == expected


@pytest.mark.parametrize(
    ("operation", "mutation", "problem"),
    [
        ("DELETE", apply("Object{}"), f"{_APPLYING}no corresponding type for /, Kind="),
        (
            "DELETE",
            patch("[JSONPatch{op: 'add', path: '/a', value: 1}]"),
            _NO_KIND + """'{"a":1}'""",
        ),
        (
            "DELETE",
            patch("object == null ? [JSONPatch{op: 'add', path: '/a', value: 1}] : []"),
            f"{_NO_KIND}'null'",
        ),
        (
            "CREATE",
            patch(
                "[JSONPatch{op: 'remove', path: '/kind'}, JSONPatch{op: 'remove', path: '/spec'}]"
            ),
            _NO_KIND + """'{"apiVersion":"v1","metadata":{"name":"web","namespace":"default"}}'""",
        ),
    ],
)
def test_what_is_no_object_when_it_is_changed(operation: str, mutation: Body, problem: str) -> None:
    expected = ("error", f"failed to evaluate policy: {problem}")
    assert said(mutating(mutation), operation=Operation(operation)) == expected


def test_an_exception_leaves_an_object_alone() -> None:
    (result,) = results(mutating(label("'y'")), exceptions=[exception(kind="MutatingPolicy")])
    assert result.patched is None


def test_match_conditions_see_variables() -> None:
    found = mutating(
        label("'y'"), variables=variables(v="1"), matchConditions=conditions("variables.v == 1")
    )
    assert labels(found) == {"x": "y"}


def test_mutating_pod_controllers() -> None:
    applied = apply("Object{spec: Object.spec{hostNetwork: true}}")
    found = mutating(applied, autogen={"podControllers": {"controllers": ["deployments"]}})
    (result,) = results(found, deployment())
    assert result.patched is not None
    assert result.patched["spec"]["template"]["spec"]["hostNetwork"] is True


@pytest.mark.parametrize(
    ("mutation", "problem"),
    [
        (apply("1"), "output is expected to be of type Object"),
        (apply("Object{nope: foo}"), "undeclared reference to 'foo'"),
        (patch("[1]"), "output is expected to be of type list"),
        (patch("[]"), "output is expected to be of type list"),
        (
            {"patchType": "ApplyConfiguration", "applyConfiguration": {}},
            'spec.mutations[0].applyConfiguration.expression: Invalid value: ""',
        ),
        (
            {"patchType": "JSONPatch", "jsonPatch": {}},
            'spec.mutations[0].jsonPatch.expression: Invalid value: ""',
        ),
    ],
)
def test_mutating_refused(mutation: Body, problem: str) -> None:
    assert problem in error_of(CompileError, said, mutating(mutation)).diagnostics[0].message


@pytest.mark.parametrize("kind", ["JSONPatch", "jsonPatch"])
def test_a_mutation_without_the_part_that_its_type_names(kind: str) -> None:
    [said] = without_effect(read_cel_policy(mutating({**apply("Object{}"), "patchType": kind})))
    assert said.message.startswith(f"p: spec.mutations[0] does nothing: patchType is {kind}, and")


def existing(**spec: Any) -> tuple[Any, list[Any]]:
    """The object that sets a policy off, as it becomes, and the others that it changes."""
    found = mutating(label("'y'"), evaluation={"mutateExisting": {"enabled": True}}, **spec)
    values = read_values(None, Location("v"), read_settings([]))
    world = World(UserApi(Cluster([CONFIG, pod("other").body])), mocks=UserMocks(values))
    first, *others = results(found, world=world)
    return first.patched, [one.patched_target for one in others]


def test_objects_that_are_there_already() -> None:
    trigger, others = existing()
    assert trigger["metadata"]["labels"] == {"x": "y"}
    assert [one["metadata"]["name"] for one in others] == ["other"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"resourceRules": [about("configmaps")]},
        {"expression": "resource.Get('v1', 'configmaps', 'default', 'c')"},
    ],
)
def test_targets_of_their_own(wanted: Body) -> None:
    trigger, others = existing(targetMatchConstraints=wanted)
    assert trigger is None
    assert [(one["kind"], one["metadata"]["labels"]) for one in others] == [
        ("ConfigMap", {"x": "y"})
    ]


def test_what_sets_a_policy_off_need_not_be_like_its_targets() -> None:
    wanted = {"expression": "resource.Get('v1', 'configmaps', 'default', 'c')"}
    found = mutating(
        label("object.data.k"),
        evaluation={"mutateExisting": {"enabled": True}},
        targetMatchConstraints=wanted,
    )
    world = World(UserApi(Cluster([{**CONFIG, "data": {"k": "v"}}])))
    first, other = results(found, world=world)
    assert first.patched is None
    assert other.patched_target is not None


def test_selectors_of_targets_are_asked_about_the_target_alone() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}
    wanted = {"resourceRules": [about()], "objectSelector": selector}
    labelled = pod("labelled", labels={"a": "b"}).body
    found = mutating(
        label("'y'"),
        evaluation={"mutateExisting": {"enabled": True}},
        targetMatchConstraints=wanted,
    )
    world = World(UserApi(Cluster([labelled, pod("other").body])))
    targets = (each.patched_target for each in results(found, world=world))
    assert [one["metadata"]["name"] for one in targets if one] == ["other"]


def test_the_expression_of_targets_is_compiled_without_targets_too() -> None:
    with pytest.raises(CompileError, match="output type must be a map"):
        compile_cel_policy(mutating(label("'y'"), targetMatchConstraints={"expression": "1"}))


def test_conditions_of_targets() -> None:
    wanted = {"resourceRules": [about("configmaps")]}
    unmet = conditions("object.metadata.name == 'd'")
    assert existing(targetMatchConstraints=wanted, targetMatchConditions=unmet)[1] == []


_EMPTY = "Object{{spec: Object.spec{{{0}}}}}"
_NO_CONTAINERS = "object.spec.containers.filter(c, false)"


@from_table("field", "alone", "encoded")
def test_empty_values_once_they_were_written_as_json(field: str, alone: Any, encoded: Any) -> None:
    """Of all empty values an empty list alone changes: in Go it is a nil slice."""
    name, _, _ = field.partition(":")
    applied = apply(_EMPTY.format(field))
    add = patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'x': 'y'}}]")
    failing = patch("[JSONPatch{op: 'test', path: '/metadata/name', value: 'other'}]")
    for mutations, expected in (
        ((applied,), alone),
        ((applied, failing), alone),
        ((applied, add), encoded),
        ((applied, add, label("'z'")), encoded),
    ):
        (result,) = results(mutating(*mutations))
        assert result.patched is not None, result.message
        assert result.patched["spec"][name] == expected
        assert type(result.patched["spec"][name]) is type(expected)


def test_an_empty_list_of_another_policy_is_written_as_json_too() -> None:
    first = compile_cel_policy(mutating(apply(_EMPTY.format("initContainers: []"))))
    other = patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'x': 'y'}}]")
    last = evaluate([first, compile_cel_policy(mutating(other))], Request(pod()))[-1]
    assert last.patched is not None
    assert last.patched["spec"]["initContainers"] is None


@pytest.mark.parametrize("value", ["{0}", "[{0}]", "{{'a': {0}}}", "[[{0}]]"])
def test_an_operation_is_no_value_of_another(value: str) -> None:
    inner = "JSONPatch{op: 'remove', path: '/a'}"
    outer = f"[JSONPatch{{op: 'add', path: '/spec/x', value: {value.format(inner)}}}]"
    assert said(mutating(patch(outer))) == (
        "error",
        "failed to evaluate policy: JSONPath valueExpression evaluated to a type that could not "
        "marshal to JSON: cannot convert to native type: *structpb.Value",
    )


_POD: Body = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "good", "team": "x"}},
    "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
}


def _patched(patches: str) -> Body:
    program = compile_expression(f"[{patches}]", ENVIRONMENTS["mpol"])
    made = program.evaluate({"object": _POD})
    assert isinstance(made, list)
    return apply_json_patch(made, _POD)


@from_table("patches", "labels")
def test_operations_change_a_copy(patches: str, labels: Body) -> None:
    assert _patched(patches)["metadata"]["labels"] == labels
    assert _POD["metadata"]["labels"] == {"app": "good", "team": "x"}


def test_an_object_is_added_to_a_list_with_whole_numbers() -> None:
    value = "Object.spec.containers{name: 'side', ports: [Object.spec.containers.ports{n: 80}]}"
    patched = _patched(f"JSONPatch{{op: 'add', path: '/spec/containers/-', value: {value}}}")
    added = patched["spec"]["containers"][-1]
    assert repr(added) == "{'name': 'side', 'ports': [{'n': 80}]}"


def test_a_test_that_fails_leaves_the_object_as_it_is() -> None:
    change = "JSONPatch{op: 'replace', path: '/metadata/name', value: 'q'}"
    test = "JSONPatch{op: 'test', path: '/metadata/name', value: 'other'}"
    assert _patched(f"{change}, {test}") is _POD


@from_table("patch", "message")
def test_what_cannot_be_applied_is_told_as_kubernetes_tells_it(patch: str, message: str) -> None:
    assert str(error_of(ApplyError, _patched, f"JSONPatch{{{patch}}}")) == f"JSON Patch: {message}"


@from_table("value", "message")
def test_a_value_that_is_no_json_is_refused(value: str, message: str) -> None:
    error = error_of(ApplyError, _patched, f"JSONPatch{{op: 'add', path: '/x', value: {value}}}")
    assert str(error).startswith(message)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x", "x{}"])
def test_copies_that_explode_are_stopped(name: str) -> None:
    copies = [
        f"JSONPatch{{op: 'copy', from: '/spec', path: '/spec/{name.format(index)}'}}"
        for index in range(1_200)
    ]
    with pytest.raises(ApplyError, match=r"make more than|nested too deeply"):
        _patched(", ".join(copies))


@from_table("selection", "said")
def test_a_field_that_no_operation_has(selection: str, said: str) -> None:
    expression = f"dyn(JSONPatch{{op: 'remove', path: '/a'}}){selection}"
    with pytest.raises(CelError) as failed:
        compile_expression(expression, ENVIRONMENTS["mpol"]).evaluate({})
    assert failed.value.message == said


def test_a_question_for_a_field_that_no_operation_has() -> None:
    expression = "has(dyn(JSONPatch{op: 'remove', path: '/a'}).x)"
    with pytest.raises(CelError, match=r"^unsupported field: x$"):
        compile_expression(expression, ENVIRONMENTS["mpol"]).evaluate({})


@pytest.mark.parametrize("value", ["[Object.spec{a: 1}]", "{'k': Object.spec{a: 1}}"])
def test_an_object_in_a_list_or_a_map_makes_the_webhook_break_off(value: str) -> None:
    with pytest.raises(ApplyError, match="breaks off"):
        _patched(f"JSONPatch{{op: 'add', path: '/spec/x', value: {value}}}")
