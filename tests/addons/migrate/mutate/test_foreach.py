"""`foreach` of mutate rules becomes one mutation of all elements."""

from __future__ import annotations

import json

import pytest

from tests.addons.migrate.mutate.forms import assert_same, expression, pod, policy, reason

_PULL = "{spec: {containers: [{(name): '{{element.name}}', imagePullPolicy: Always}]}}"
_ELEMENT = "/spec/containers/{{elementIndex}}"
_PODS = [
    pod(),
    pod("{containers: [{name: b, image: 'b:latest'}, {name: c, image: 'c:1'}]}"),
    pod("{containers: [{name: b, image: 'b:1', env: [{name: A}]}, {name: c, image: 'c:latest'}]}"),
    pod("{initContainers: [{name: i, image: 'i:latest'}]}"),
    pod("{containers: [{name: b, image: b, resources: {requests: {cpu: 1, memory: 1Mi}}}]}"),
    pod("{containers: [{name: b, image: b, resources: {limits: {memory: 2Mi}}}]}"),
]


def merging(patch: str, listed: str = "request.object.spec.containers", more: str = "") -> str:
    return f'foreach: [{{list: "{listed}", patchStrategicMerge: {patch}{more}}}]'


def patching(listed: str, path: str, value: object) -> str:
    patch = json.dumps([{"op": "add", "path": path, "value": value}])
    return f"foreach: {json.dumps([{'list': listed, 'patchesJson6902': patch}])}"


def test_a_merge_of_each_element_is_a_map() -> None:
    assert expression(policy(merging(_PULL))) == (
        "Object{ spec: Object.spec{ containers: object.spec.containers.map(container, "
        "Object.spec.containers{name: container.name, imagePullPolicy: 'Always'}) } }"
    )


def test_an_operation_on_each_element_knows_its_index() -> None:
    text = patching("request.object.spec.containers", f"{_ELEMENT}/tty", True)
    assert expression(policy(text)) == (
        "object.spec.containers.transformList(index, container, JSONPatch{op: 'add', "
        "path: '/spec/containers/' + string(index) + '/tty', value: true})"
    )


@pytest.mark.parametrize(
    "mutate",
    [
        merging(_PULL),
        merging(_PULL, "request.object.spec.[initContainers, containers][]"),
        merging(_PULL, "request.object.spec.containers[?ends_with(image, ':latest')]"),
        merging(
            _PULL,
            more=", preconditions: {all: [{key: '{{element.image}}', operator: Equals,"
            " value: '*:latest'}]}",
        ),
        merging(
            "{spec: {containers: [{name: '{{ element.name }}', image: 'x/{{element.image}}'}]}}"
        ),
        merging(
            "{spec: {containers: [{(name): '{{element.name}}', resources: {requests: {"
            "+(memory): 100Mi, +(cpu): 100m}}}]}}"
        ),
        merging(
            "{spec: {containers: [{(name): '{{element.name}}', resources: {requests: {memory: "
            "'{{element.resources.limits.memory || element.resources.requests.memory}}'}}}]}}"
        ),
        patching(
            "request.object.spec.containers[]",
            f"{_ELEMENT}/env/-",
            {"name": "I", "value": "x-{{element.image}}"},
        ),
    ],
)
def test_loops_and_mutations_give_the_same_objects(mutate: str) -> None:
    assert_same(policy(mutate), _PODS)


@pytest.mark.parametrize(
    ("mutate", "words"),
    [
        (merging(_PULL, more=", order: Ascending"), "ascending"),
        (merging("{metadata: {labels: {a: '{{element.name}}'}}}"), "something else"),
        (merging("{spec: {containers: [{(name): app, tty: true}]}}"), "does not name its element"),
        (
            merging("{spec: {containers: [{name: '{{element.name}}', image: '{{x(`{{a}}`)}}'}]}}"),
            "no form in CEL",
        ),
        (
            patching("request.object.spec.containers", "/metadata/labels/a", "b"),
            "something else",
        ),
    ],
)
def test_loops_without_an_equal_are_left(mutate: str, words: str) -> None:
    assert words in reason(policy(mutate))
