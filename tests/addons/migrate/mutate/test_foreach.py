"""`foreach` of mutate rules becomes one mutation of all elements."""

import json

import pytest

from chartkit.model import Body
from tests.addons.migrate.mutate.forms import assert_same, expression, pod, policy, reason

_PULL = "{spec: {containers: [{(name): '{{element.name}}', imagePullPolicy: Always}]}}"
_IN_BOTH = (
    "{spec: {hostname: a, initContainers: [{(name): '{{element.name}}', securityContext: {"
    "(privileged): true, privileged: false}}], containers: [{(name): '{{element.name}}', tty: "
    "false}]}}"
)
_CONTAINERS = "request.object.spec.containers"
_ELEMENT = "/spec/containers/{{elementIndex}}"
_PORT = "/spec/containers/{{elementIndex0}}/ports/{{elementIndex1}}"
_PODS = [
    pod(),
    pod("{containers: [{name: b, image: 'b:latest'}, {name: c, image: 'c:1'}]}"),
    pod("{containers: [{name: b, image: 'b:1', env: [{name: A}]}, {name: c, image: 'c:latest'}]}"),
    pod("{initContainers: [{name: i, image: 'i:latest'}]}"),
    pod("{containers: [{name: b, image: b, resources: {requests: {cpu: 1, memory: 1Mi}}}]}"),
    pod("{containers: [{name: b, image: b, resources: {limits: {memory: 2Mi}}}]}"),
    pod("{containers: [{name: b, image: b, tty: true, ports: [{containerPort: 1, hostPort: 1}]}]}"),
    pod(
        "{containers: [{name: b, image: b, ports: [{containerPort: 1}, {containerPort: 2, "
        "hostPort: 3}]}], initContainers: [{name: i, image: i, tty: true, "
        "securityContext: {privileged: true}}]}"
    ),
    pod(metadata="{labels: {tmp/a: b, tmp-c: d, keep: e}}"),
    pod("{volumes: [{name: a, hostPath: {path: /a}}, {name: b}, {name: c, hostPath: {path: /}}]}"),
]


def merging(patch: str, listed: str = "request.object.spec.containers", more: str = "") -> str:
    return f'foreach: [{{list: "{listed}", patchStrategicMerge: {patch}{more}}}]'


def patching(listed: str, path: str, value: object) -> str:
    return looping(listed, {"op": "add", "path": path, "value": value})


def looping(listed: str, *operations: Body, nested: str = "", **more: object) -> str:
    inner: Body = {"patchesJson6902": json.dumps(operations)}
    if nested:
        inner = {"foreach": [{"list": nested, **inner}]}
    return f"foreach: {json.dumps([{'list': listed, **inner, **more}])}"


def op(name: str, path: str, **fields: object) -> Body:
    return {"op": name, "path": path, **fields}


def element_has(key: str) -> Body:
    return {"all": [{"key": key, "operator": "AnyIn", "value": "{{ element.keys(@) }}"}]}


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


def test_elements_are_removed_from_the_end() -> None:
    text = looping(
        "request.object.spec.volumes[]",
        op("remove", "/spec/volumes/{{elementIndex}}"),
        order="Descending",
        preconditions=element_has("hostPath"),
    )
    assert expression(policy(text)) == (
        "object.spec.?volumes.orValue([]).transformList(index, volume, has(volume.hostPath), "
        "JSONPatch{op: 'remove', path: '/spec/volumes/' + string(index)}).reverse()"
    )


def test_a_loop_in_a_loop_knows_both_numbers() -> None:
    text = looping(_CONTAINERS, op("remove", f"{_PORT}/hostPort"), nested="element.ports[]")
    assert expression(policy(text)) == (
        "object.spec.containers.transformList(index, container, container.?ports.orValue([])"
        ".transformList(portIndex, port, has(port.hostPort), JSONPatch{ op: 'remove', path: "
        "'/spec/containers/' + string(index) + '/ports/' + string(portIndex) + '/hostPort' }))"
        ".flatten()"
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
        looping(_CONTAINERS, op("remove", f"{_ELEMENT}/tty")),
        looping(
            _CONTAINERS, op("remove", f"{_ELEMENT}/tty"), op("add", f"{_ELEMENT}/tty", value=1)
        ),
        looping(
            _CONTAINERS,
            op("remove", "/spec/containers/{{elementIndex0}}/ports/{{elementIndex}}/hostPort"),
            nested="element.ports[]",
        ),
        looping(
            _CONTAINERS,
            op(
                "replace",
                "/spec/containers/{{elementIndex0}}/ports/{{elementIndex1}}/name",
                value=1,
            ),
            nested="element.ports[]",
        ),
        looping(
            "request.object.spec.volumes[]",
            op("remove", "/spec/volumes/{{elementIndex}}"),
            order="Descending",
            preconditions=element_has("hostPath"),
        ),
        looping(_CONTAINERS, op("add", "/metadata/annotations/x-{{element.name}}", value="y")),
        looping(
            _CONTAINERS,
            op("add", "/spec/tolerations/-", value={"key": "{{element.name}}"}),
            order="Descending",
        ),
        looping(
            "keys(request.object.metadata.labels || `{}`)",
            op("remove", "/metadata/labels/{{ replace_all(element, '/', '~1') }}"),
            preconditions={"all": [{"key": "{{element}}", "operator": "Equals", "value": "tmp*"}]},
        ),
        looping(f"{_CONTAINERS}[?tty]", op("add", "/metadata/labels/tty", value="yes")),
        merging(_IN_BOTH, "request.object.spec.[initContainers, containers][]"),
        merging("{metadata: {labels: {a: '{{element.name}}'}}}"),
        merging(
            "{metadata: {annotations: {'+(x/{{element.name}})': y}}}",
            "request.object.spec.[initContainers, containers][]",
        ),
        merging("{spec: {containers: [{(name): '{{element.name}}', tty: null}]}}"),
        merging(
            "{spec: {nodeSelector: {a: b}, volumes: [{(name): '{{element.name}}', nfs: null}]}}",
            "request.object.spec.volumes[]",
        ),
        merging(
            _IN_BOTH,
            "request.object.spec.[containers, initContainers, ephemeralContainers][]",
            more=f", order: Descending, preconditions: {json.dumps(element_has('tty'))}",
        ),
    ],
)
def test_loops_and_mutations_give_the_same_objects(mutate: str) -> None:
    assert_same(policy(mutate), _PODS)


@pytest.mark.parametrize(
    ("mutate", "words"),
    [
        (merging(_PULL, more=", order: Ascending"), "ascending"),
        (merging("{spec: {containers: [{(name): app, tty: true}]}}"), "does not name its element"),
        (
            patching(_CONTAINERS, f"{_ELEMENT}/image", "{{is_external_url(element)}}"),
            "no form in CEL",
        ),
        (looping(_CONTAINERS, op("remove", "/metadata/labels/a")), "something else"),
        (looping(_CONTAINERS, op("remove", _ELEMENT)), "ascending order"),
        (patching(_CONTAINERS, "/metadata/labels/{{element.image}}", "x"), "may hold a /"),
        (
            looping("request.object.spec.volumes", op("remove", f"{_ELEMENT}/tty")),
            "numbers of another list",
        ),
        (
            looping(f"{_CONTAINERS}[?tty]", op("remove", f"{_ELEMENT}/tty")),
            "numbers of another list",
        ),
    ],
)
def test_loops_without_an_equal_are_left(mutate: str, words: str) -> None:
    assert words in reason(policy(mutate))
