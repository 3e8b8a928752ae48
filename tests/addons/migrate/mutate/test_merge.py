"""`patchStrategicMerge` becomes apply configurations that give the same objects."""

import pytest

from tests.addons.migrate.mutate.forms import (
    assert_same,
    conditions,
    converted,
    expression,
    mutated,
    pod,
    policy,
    reason,
)
from tests.data import from_table

_AFFINITY = (
    "{spec: {+(affinity): {+(nodeAffinity): {}, podAffinity: {preferredDuringScheduling"
    "IgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone}}]}}}}"
)


def merging(patch: str) -> str:
    return f"patchStrategicMerge: {patch}"


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (
            "{spec: {priorityClassName: high}}",
            "Object{spec: Object.spec{priorityClassName: 'high'}}",
        ),
        (
            "{metadata: {labels: {a/b: c}}}",
            "Object{metadata: Object.metadata{labels: {'a/b': 'c'}}}",
        ),
        (
            "{metadata: {labels: {+(a/b): c}}}",
            "Object{ metadata: Object.metadata{ "
            "labels: {'a/b': object.metadata.?labels[?'a/b'].orValue('c')} } }",
        ),
        (
            "{metadata: {labels: {+(a): b, c: d}}}",
            "Object{ metadata: Object.metadata{ "
            "labels: {'a': object.metadata.?labels.?a.orValue('b'), 'c': dyn('d')} } }",
        ),
        (
            "{spec: {imagePullSecrets: [{name: mine}]}}",
            "Object{ spec: Object.spec{ imagePullSecrets: [ Object.spec.imagePullSecrets{"
            "name: 'mine'} ] + object.spec.?imagePullSecrets.orValue([]).filter("
            "imagePullSecret, has(imagePullSecret.name) && imagePullSecret.name != 'mine' && "
            "object.spec.?imagePullSecrets.orValue([]).exists_one(other, "
            "other.?name.orValue('') == imagePullSecret.name)).map(imagePullSecret, "
            "Object.spec.imagePullSecrets{name: imagePullSecret.name}) } }",
        ),
        (
            "{spec: {containers: [{(image): '*:latest', imagePullPolicy: Always}]}}",
            "Object{ spec: Object.spec{ containers: object.spec.containers.filter(container, "
            "has(container.image) && container.image.endsWith(':latest')).map(container, "
            "Object.spec.containers{name: container.name, imagePullPolicy: 'Always'}) + "
            "object.spec.containers.filter(container, "
            "!(has(container.image) && container.image.endsWith(':latest'))).map(container, "
            "Object.spec.containers{name: container.name}) } }",
        ),
        (
            _AFFINITY,
            "Object{ spec: Object.spec{ ?affinity: !has(object.spec.affinity) ? optional.of("
            "Object.spec.affinity{ podAffinity: Object.spec.affinity.podAffinity{ "
            "preferredDuringSchedulingIgnoredDuringExecution: [ Object.spec.affinity.podAffinity."
            "preferredDuringSchedulingIgnoredDuringExecution{ weight: 1, podAffinityTerm: "
            "Object.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution."
            "podAffinityTerm{ topologyKey: 'zone' } } ] } }) : optional.none() } }",
        ),
    ],
)
def test_patches_become_configurations(patch: str, text: str) -> None:
    assert expression(policy(merging(patch))) == text


@from_table("patch")
def test_configurations_and_merges_give_the_same_objects(patch: str) -> None:
    assert_same(
        policy(merging(patch)),
        [
            pod(),
            pod(metadata="{labels: {a/b: x}, finalizers: [c/d, e/f]}"),
            pod(metadata="{labels: {a: '', c: x, team: y}}"),
            pod(metadata="{labels: {a/b: '', team: t}, annotations: {x: ''}}"),
            pod("{hostNetwork: true, priorityClassName: low, dnsPolicy: Default}"),
            pod("{hostNetwork: false, securityContext: {}}"),
            pod("{securityContext: {runAsUser: 1, fsGroup: 2}}"),
            pod("{imagePullSecrets: [{name: a}, {name: mine}, {name: b}]}"),
            pod("{tolerations: [{key: b, operator: Exists}], affinity: {}}"),
            pod("{affinity: {nodeAffinity: {}}, dnsConfig: {options: [{name: x}], searches: [a]}}"),
            pod(
                "{containers: [{name: b, image: 'b:1', env: [{name: Z, value: z}, {name: A,"
                " value: a}]}, {name: c, image: 'corp/c:latest', env: [{name: Y}]}]}"
            ),
            pod("{containers: [{name: b, image: 'b:latest'}, {name: c}]}"),
            pod("{containers: [{name: b, tty: true, resources: {limits: {cpu: 2}}}, {name: c}]}"),
            pod("{containers: [{name: b}, {name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}"),
            pod("{containers: [{name: b, ports: [{name: http, containerPort: 80}]}, {name: c}]}"),
            pod("{nodeSelector: {a: c, d: e}, hostAliases: [{ip: 1.1.1.1, hostnames: [b]}]}"),
            pod("{initContainers: [{name: i, image: i}, {name: j, image: 'j:latest'}]}"),
            pod("{volumes: [{name: a, emptyDir: {}}, {name: tmp, secret: {secretName: s}}]}"),
            pod("{volumes: [{name: a, secret: {secretName: s}}]}"),
        ],
    )


def test_global_anchors_are_conditions_of_the_match() -> None:
    legacy = policy(merging("{spec: {containers: [{<(image): 'corp/*'}], hostname: corp}}"))
    assert conditions(legacy) == {
        "anchors": "object.spec.containers.exists(container, "
        "has(container.image) && container.image.startsWith('corp/'))"
    }
    assert expression(legacy) == "Object{spec: Object.spec{hostname: 'corp'}}"


def test_what_is_replaced_as_a_whole_needs_server_side_apply() -> None:
    legacy = policy(merging("{spec: {tolerations: [{key: a, operator: Exists}]}}"))
    assert converted(legacy)["spec"]["evaluation"]["useServerSideApply"] is True
    plain = policy(merging("{spec: {hostname: a}}"))
    assert converted(plain)["spec"]["evaluation"] == {"background": {"enabled": False}}


@from_table("patch", "words")
def test_patches_without_an_equal_are_left(patch: str, words: str) -> None:
    assert words in reason(policy(merging(patch)))


def test_optional_entries_of_several_types_have_their_type_within() -> None:
    # Kyverno's compiler breaks off at an optional entry that is `dyn` as a whole.
    text = expression(
        policy(merging("{metadata: {labels: {+(a): b, c: d, +(e): '{{request.name}}'}}}"))
    )
    assert "dyn(optional" not in text
    lists = "[{(name): '*', resources: {limits: {+(cpu): 1, memory: '{{request.namespace}}'}}}]"
    text = expression(policy(merging(f"{{spec: {{containers: {lists}}}}}")))
    assert "optional.of(dyn(1))" in text


def test_lists_with_two_elements_of_one_key_are_left_as_they_are() -> None:
    legacy = policy(merging("{spec: {containers: [{(name): '*', env: [{name: A, value: b}]}]}}"))
    env = [{"name": "Z", "value": "1"}, {"name": "Z", "value": "2"}, {"name": "Y"}]
    body = pod("{containers: [{name: app, image: a}]}")
    body["spec"]["containers"][0]["env"] = env
    patched, failed = mutated(legacy, body)
    assert not failed
    assert {"name": "A", "value": "b"} in patched["spec"]["containers"][0]["env"]
    assert [each for each in patched["spec"]["containers"][0]["env"] if each in env] == env


def test_fields_of_what_is_replaced_as_a_whole_are_kept() -> None:
    env = "[{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]"
    legacy = policy(merging(f"{{spec: {{containers: [{{(name): '*', env: {env}}}]}}}}"))
    body = pod("{containers: [{name: app, image: a}]}")
    mutated(legacy, body)
    field = {"apiVersion": "v1", "fieldPath": "metadata.name"}
    body["spec"]["containers"][0]["env"] = [{"name": "A", "valueFrom": {"fieldRef": field}}]
    patched, failed = mutated(legacy, body)
    assert not failed
    (made,) = patched["spec"]["containers"][0]["env"]
    assert made["valueFrom"] == {"fieldRef": {**field, "fieldPath": "spec.nodeName"}}


@pytest.mark.parametrize(
    "patch", ["{spec: {o: [{name: n, $patch: delete}]}}", "{spec: {m: {$retainKeys: [x], x: '1'}}}"]
)
def test_lists_and_maps_within_others_are_json_patches(patch: str) -> None:
    legacy = policy(merging(patch), kind="Widget")
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}
    assert expression(legacy).endswith("]")
    assert_same(legacy, [body])
