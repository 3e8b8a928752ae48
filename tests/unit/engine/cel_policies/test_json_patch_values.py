"""JSON patches that expressions make."""

import pytest

from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel_policies.patches.apply_configuration import ApplyError
from chartkit.engine.cel_policies.patches.json_patch import apply_json_patch
from chartkit.model import Body

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


@pytest.mark.parametrize(
    ("patches", "labels"),
    [
        ("JSONPatch{op: 'add', path: '/metadata/labels/n', value: 1}",
         {"app": "good", "team": "x", "n": 1}),
        ("JSONPatch{op: 'remove', path: '/metadata/labels/team'}", {"app": "good"}),
        ("JSONPatch{op: 'replace', path: '/metadata/labels/new', value: 'y'}",
         {"app": "good", "team": "x", "new": "y"}),
        ("JSONPatch{op: 'move', from: '/metadata/labels/team', path: '/metadata/labels/t'}",
         {"app": "good", "t": "x"}),
        ("JSONPatch{op: 'copy', from: '/metadata/name', path: '/metadata/labels/app'}",
         {"app": "p", "team": "x"}),
        ("JSONPatch{op: 'replace', path: '/metadata/labels', value: {'a~b': 'c'}}, "
         "JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey('a~b')}", {}),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("op: 'add', path: '/metadata/annotations/x', value: 'y'",
         'add operation does not apply: doc is missing path: "/metadata/annotations/x": '
         "missing value"),
        ("op: 'replace', path: '/spec/initContainers/0/image', value: 'n'",
         "replace operation does not apply: doc is missing path: /spec/initContainers/0/image: "
         "missing value"),
        ("op: 'remove', path: '/metadata/labels/none'",
         "error in remove for path: '/metadata/labels/none': "
         "Unable to remove nonexistent key: none: missing value"),
        ("op: 'add', path: '/spec/containers/9', value: 'n'",
         "error in add for path: '/spec/containers/9': "
         "Unable to access invalid index: 9: invalid index referenced"),
        ("op: 'bad', path: '/x'", "Unexpected kind: bad"),
        ("op: 'copy', path: '/x'",
         "copy operation failed to decode from: operation, missing from field: missing value"),
        ("op: 'add', path: 'x', value: 1",
         'add operation does not apply: doc is missing path: "x": missing value'),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_told_as_kubernetes_tells_it(patch: str, message: str) -> None:
    with pytest.raises(ApplyError) as caught:
        _patched(f"JSONPatch{{{patch}}}")
    assert str(caught.value) == f"JSON Patch: {message}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("type(1)", "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
         "type conversion not supported for 'type'"),
        ("Object.spec{a: Object.spc{}}", 'type mismatch: unexpected type name "Object.spc"'),
    ],
)  # fmt: skip
def test_a_value_that_is_no_json_is_refused(value: str, message: str) -> None:
    with pytest.raises(ApplyError) as caught:
        _patched(f"JSONPatch{{op: 'add', path: '/x', value: {value}}}")
    assert str(caught.value).startswith(message)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x", "x{}"])
def test_copies_that_explode_are_stopped(name: str) -> None:
    copies = [
        f"JSONPatch{{op: 'copy', from: '/spec', path: '/spec/{name.format(index)}'}}"
        for index in range(1_200)
    ]
    with pytest.raises(ApplyError, match=r"make more than|nested too deeply"):
        _patched(", ".join(copies))


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (".x", "unsupported indexer: x"),
        ("['o' + 'x']", "unsupported indexer: ox"),
        ("[1]", "unsupported indexer: %!s(types.Int=1)"),
        ("[1u]", "unsupported indexer: %!s(types.Uint=1)"),
        ("[1.5]", "unsupported indexer: %!s(types.Double=1.5)"),
        ("[true]", "unsupported indexer: %!s(types.Bool=true)"),
        (".?x", "unsupported field: x"),
        ("[?1]", "unsupported field: %!s(types.Int=1)"),
    ],
)
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
