"""`patchesJson6902` becomes lists of `JSONPatch{…}` that give the same objects."""

import json

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import PLAIN_TEXTS
from chartkit.model import Body
from tests.addons.migrate.mutate.forms import assert_same, expression, pod, policy, reason


def patching(*operations: Body) -> str:
    text = "\n".join(f"- {json.dumps(each)}" for each in operations)
    return f"patchesJson6902: {json.dumps(text)}"


def op(name: str, path: str, **fields: object) -> Body:
    return {"op": name, "path": path, **fields}


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (
            op("add", "/metadata/labels/a~1b", value="c"),
            "(!has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels', "
            "value: {}}] : []) + [JSONPatch{op: 'add', path: '/metadata/labels/a~1b', value: 'c'}]",
        ),
        (
            op("remove", "/spec/priority"),
            "has(object.spec.priority) ? [JSONPatch{op: 'remove', path: '/spec/priority'}] : []",
        ),
        (
            op("replace", "/metadata/name", value="n"),
            "[ JSONPatch{op: 'remove', path: '/metadata/name'}, "
            "JSONPatch{op: 'add', path: '/metadata/name', value: 'n'} ]",
        ),
        (
            op("add", "/spec/hostname", value="{{request.namespace}}"),
            "[JSONPatch{op: 'add', path: '/spec/hostname', value: request.namespace}]",
        ),
        (
            op("add", "/spec/tolerations", value=[{"key": "a"}]),
            "[JSONPatch{op: 'add', path: '/spec/tolerations', value: [{'key': 'a'}]}]",
        ),
    ],
)
def test_operations(operation: Body, text: str) -> None:
    assert expression(policy(patching(operation))) == text


@pytest.mark.parametrize(
    "operations",
    [
        [op("add", "/metadata/labels/a~1b", value="c"), op("add", "/metadata/labels/d", value="e")],
        [op("add", "/spec/tolerations/-", value={"key": "a", "operator": "Exists"})],
        [op("add", "/spec/tolerations/-1", value={"key": "a", "operator": "Exists"})],
        [op("add", "/spec/tolerations/-1/key", value="c")],
        [op("add", "/spec/containers/-1/volumeMounts/-1", value={"name": "v", "mountPath": "/v"})],
        [
            op("add", "/spec/imagePullSecrets/-1/name", value="a"),
            op("add", "/spec/priority", value=1),
        ],
        [op("add", "/spec/securityContext/seLinuxOptions/level", value="s0")],
        [op("remove", "/spec/priority"), op("add", "/spec/priorityClassName", value="low")],
        [op("remove", "/metadata/labels/a~1b")],
        [op("replace", "/metadata/labels/a~1b", value="c")],
        [op("replace", "/spec/containers", value=[{"name": "x", "command": ["a", "b"]}])],
        [op("add", "/spec/volumes/-", value={"name": "v", "emptyDir": {"medium": "Memory"}})],
        [op("add", "/spec/containers/0/volumeMounts/-", value={"name": "v", "mountPath": "/v"})],
        [op("remove", "/spec/containers/1"), op("remove", "/spec/tolerations/-1")],
        [op("replace", "/spec/containers/0/name", value="b")],
        [op("replace", "/spec/volumes/-1/name", value="a")],
        [op("remove", "/metadata/labels"), op("add", "/metadata/labels/d", value="e")],
        [op("remove", "/spec/priority"), op("add", "/spec/priority", value=1)],
        [
            op("add", "/metadata/labels", value={"x": "1"}),
            op("remove", "/metadata/labels/x"),
            op("remove", "/metadata/labels/a~1b"),
            op("replace", "/metadata/labels", value={}),
        ],
        [{"op": "copy", "from": "/spec/containers", "path": "/spec/initContainers"}],
        [{"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"}],
    ],
)
def test_operations_and_rules_give_the_same_objects(operations: list[Body]) -> None:
    assert_same(
        policy(patching(*operations)),
        [
            pod(),
            pod(metadata="{labels: {a/b: x}}"),
            pod(metadata="{labels: {}}"),
            pod("{priority: 7, tolerations: [{key: b, operator: Exists}]}"),
            pod("{tolerations: [], securityContext: {seLinuxOptions: {level: s1, user: u}}}"),
            pod("{volumes: [{name: w, emptyDir: {}}]}"),
            pod("{containers: [{name: a, volumeMounts: [{name: w, mountPath: /w}]}, {name: b}]}"),
        ],
    )


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (op("test", "/metadata/name", value="a"), "the operation test"),
        (op("add", "/spec/volumes/0/name", value="a"), "may be absent"),
        (op("add", "/spec/volumes/-/name", value="a"), "counts from the end"),
        (op("replace", "/spec/volumes/-/name", value="a"), "counts from the end"),
        (op("add", "/spec/x", value="{{request.object.spec.containers}}"), "might not be a string"),
    ],
)
def test_operations_without_an_equal_are_left(operation: Body, words: str) -> None:
    assert words in reason(policy(patching(operation)))


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        (
            [op("remove", "/spec/containers/0"), op("remove", "/spec/containers/0/tty")],
            "whose numbers change",
        ),
        (
            [
                {"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"},
                {"op": "copy", "from": "/metadata/labels/a", "path": "/metadata/labels/b"},
            ],
            "is changed and copied",
        ),
    ],
)
def test_operations_that_depend_on_each_other_are_left(operations: list[Body], words: str) -> None:
    assert words in reason(policy(patching(*operations)))


def test_a_list_of_json_is_no_yaml() -> None:
    text = "[{op: remove, path: /spec/priority}]"
    assert "cannot be read" in reason(policy(f"patchesJson6902: {json.dumps(text)}"))


_QUOTES_IN_QUOTES = """
- op: add
  path: /metadata/labels/team
  value: '{{ request.object.metadata.labels."owner" || 'none' }}'
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- {op: add, path: /spec/hostname, value: {{request.name}}}", "request.name"),
        ("- op: add\n  path: /spec/hostname\n  value: a-{{request.name}}", "'a-' + request.name"),
        (_QUOTES_IN_QUOTES, "object.metadata.?labels.?owner.orValue('') != ''"),
    ],
)
def test_quotes_and_braces_of_variables_are_none_of_yaml(text: str, value: str) -> None:
    assert f"value: {value}" in expression(policy(f"patchesJson6902: {json.dumps(text)}"))


def test_a_variable_without_quotes_gives_a_text() -> None:
    text = "- {op: add, path: PATH, value: {{request.name}}}"
    of_text = policy(f"patchesJson6902: {json.dumps(text.replace('PATH', '/spec/hostname'))}")
    assert PLAIN_TEXTS in convert(of_text).outcomes[0].remarks
    of_number = policy(f"patchesJson6902: {json.dumps(text.replace('PATH', '/spec/priority'))}")
    assert "not in quotes" in reason(of_number)
