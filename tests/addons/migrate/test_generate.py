"""Generate rules become GeneratingPolicies that generate the same objects."""

import base64
import json
from typing import Any

import pytest
import yaml

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import NULL_VALUES
from chartkit.addons.migrate.proof import ProofOptions, prove
from chartkit.engine import Request, compile_any, evaluate, sorted_out
from chartkit.engine.cli_files.world import ObjectApi, UserApi
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.errors import ChartkitError, CompileError
from chartkit.model import Body, Location, Resource, Status
from tests.addons.migrate.conversions import converted
from tests.data import beside, from_table, tables
from tests.objects import api_object

_MEMORY = Location("policy.yaml")
_MANAGED = ("generate.kyverno.io/", "app.kubernetes.io/managed-by")


def policy(generate: str, rest: str = "", *, kinds: str = "Namespace", **changes: Any) -> Resource:
    rule = {
        "name": "gen",
        "match": {"any": [{"resources": {"kinds": [kinds]}}]},
        **(yaml.safe_load(rest) or {}),
        "generate": yaml.safe_load(generate),
    }
    body: Body = api_object(
        "kyverno.io/v1", "ClusterPolicy", "p", spec={"background": False, "rules": [rule]}
    )
    return Resource({**body, **changes}, _MEMORY)


def _object(kind: str, name: str, namespace: str = "", **rest: Any) -> Body:
    metadata: Body = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for key in ("labels", "uid", "ownerReferences"):
        if key in rest:
            metadata[key] = rest.pop(key)
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **rest}


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
WORLD: list[Body] = [
    _object("Secret", "regcred", "default", data={"a": "Yg=="}, uid="7", ownerReferences=[OWNER]),
    _object("Secret", "copied", "default", type="Opaque", labels={"copy": "y", "team": "a"}),
    _object("Secret", "kept", "default", type="Opaque", labels={"copy": "n"}),
    _object("ConfigMap", "base", "default", data={"k": "v"}, labels={"copy": "y"}),
]
TRIGGERS: list[Body] = [
    _object("Namespace", "default"),
    _object("Namespace", "team-a", labels={"env": "dev", "team": "a"}, uid="3"),
    _object("Namespace", "team-b", labels={}),
    _object("Service", "web", "team-a", spec={"ports": [{"name": "http", "port": 80}]}),
    _object("Service", "db", "team-b", spec={"ports": [{"name": "sql", "port": 1}, {"port": 2}]}),
]


def generated(policies: list[Resource], trigger: Body, objects: list[Body]) -> list[Body]:
    """Return what policies generate, without the labels that name them, in order."""
    admitting, _ = sorted_out([compile_any(each) for each in policies])
    there = [*objects, trigger]
    world = World(UserApi(Cluster(there), ObjectApi(there)))
    try:
        results = evaluate(admitting, Request(Resource(trigger, _MEMORY)), world)
    except ChartkitError:
        return []
    made = [
        body
        for each in results
        if each.status is Status.PASS
        for body in (*each.generated, *each.updated)
    ]
    return sorted(map(_plain, made), key=lambda body: json.dumps(body, sort_keys=True))


def _plain(body: Body) -> Body:
    labels = body["metadata"].get("labels") or {}
    kept = {key: text for key, text in labels.items() if not key.startswith(_MANAGED)}
    metadata = {key: each for key, each in body["metadata"].items() if key != "labels"}
    return {**body, "metadata": {**metadata, **({"labels": kept} if kept else {})}}


def agree(legacy: Resource, triggers: list[Body], objects: list[Body]) -> int:
    """Return how many objects both forms generate."""
    documents = [Resource(body, _MEMORY) for body in convert(legacy).documents]
    count = 0
    for trigger in triggers:
        wanted = generated([legacy], trigger, objects)
        assert generated(documents, trigger, objects) == wanted, trigger
        count += len(wanted)
    return count


_CONFIG = (
    "{apiVersion: v1, kind: ConfigMap, name: %s, namespace: '{{ request.object.metadata.name }}', "
    "data: %s}"
)


@pytest.mark.parametrize(
    "generate",
    [
        _CONFIG % ("gen", "{data: {k: v}}"),
        _CONFIG % ("gen", "{}"),
        _CONFIG % ("'cm-{{ request.object.metadata.name }}-{{ request.operation }}'", "{}"),
        _CONFIG % ("gen", "{metadata: {labels: {l: '{{request.object.metadata.name}}'}}}"),
        _CONFIG % ("gen", "{metadata: {name: other, namespace: x, annotations: {a: b}}}"),
        _CONFIG % ("gen", "{data: {n: \"{{ request.object.metadata.labels.env || 'none' }}\"}}"),
        _CONFIG % ("gen", "{data: {n: '{{ request.object.metadata.labels.env }}'}}"),
        _CONFIG % ("gen", "{spec: {n: 1, b: true, f: 1.5, z: null, l: [1, a], m: {}}}"),
        _CONFIG % ("gen", "{data: {d: '2020-01-01x', n: 'no', e: '1e3', o: '010', h: '0x1f'}}"),
        _CONFIG % ("gen", "{data: {s: 'a ((b)) c', t: \"multi\\nline: x\\n\", u: '# no', v: ' '}}"),
        _CONFIG % ("gen", "{data: {s: 'f((x)) of {{ request.object.metadata.name }}'}}"),
        _CONFIG % ("gen", "{data: {e: '\\{{ kept }}', q: 'it''s'}}"),
        _CONFIG % ("gen", "{spec: '{{ request.object.metadata }}'}"),
        _CONFIG % ("gen", "{kind: Secret, stringData: {a: b}}"),
        "{apiVersion: v1, kind: Secret, name: regcred, namespace: "
        "'{{request.object.metadata.name}}', clone: {namespace: default, name: regcred}}",
        "{apiVersion: v1, kind: Secret, name: pull, namespace: "
        "'{{request.object.metadata.name}}', clone: {namespace: default, name: regcred}}",
        "{apiVersion: v1, kind: Secret, name: 'of-{{request.object.metadata.name}}', namespace: "
        "default, synchronize: true, clone: {namespace: default, name: regcred}}",
        "{namespace: '{{request.object.metadata.name}}', cloneList: {namespace: default, kinds: "
        "[v1/Secret, v1/ConfigMap], selector: {matchLabels: {copy: 'y'}}}}",
        "{namespace: '{{request.object.metadata.name}}', synchronize: true, cloneList: "
        "{namespace: default, kinds: [v1/Secret]}}",
        '{foreach: [{list: \'`["a", "b"]`\', apiVersion: v1, kind: ConfigMap, name: '
        "'cm-{{element}}', namespace: '{{request.object.metadata.name}}', "
        "data: {data: {e: '{{element}}'}}}]}",
    ],
)
def test_both_forms_generate_the_same_objects(generate: str) -> None:
    assert agree(policy(generate), TRIGGERS, WORLD) > 0


def test_a_cluster_takes_rules_that_generate_outside_of_namespaces() -> None:
    role = (
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, "
        "name: 'own-{{request.object.metadata.name}}', data: {rules: []}}"
    )
    (body,) = convert(policy(role)).documents
    made = yaml.safe_load(body["spec"]["generate"][0]["template"]["value"])
    assert made["metadata"] == {"name": "own-(( object.metadata.name ))"}


@from_table("preconditions")
def test_loops_generate_an_object_for_each_element(preconditions: str) -> None:
    legacy = policy(
        f"{{foreach: [{{list: 'request.object.spec.ports', {preconditions}apiVersion: v1, "
        "kind: ConfigMap, name: 'port-{{ element.port }}', namespace: '{{ request.namespace }}', "
        "data: {data: {port: '{{ element.port }}', of: '{{ request.object.metadata.name }}'}}}]}",
        kinds="Service",
    )
    assert agree(legacy, TRIGGERS, WORLD) == (1 if preconditions else 3)


@from_table("rest")
def test_conditions_and_context_are_kept(rest: str) -> None:
    data = "{data: {v: '{{ greeting }}'}}" if "greeting" in rest else "{data: {v: w}}"
    assert agree(policy(_CONFIG % ("gen", data), rest), TRIGGERS, WORLD) > 0


_ACCESS = beside(__file__)["access"]


def test_labels_are_merged_and_texts_are_read_of_a_secret() -> None:
    config = base64.b64encode(b"hosts: [{url: 'https://a.example:6443'}]").decode()
    nothing = base64.b64encode(b"hosts: []").decode()
    secrets = [
        _object("Secret", f"{name}-access", "default", data={"config": data})
        for name, data in (("team-a", config), ("team-b", nothing))
    ]
    data = "{metadata: {labels: '{{ labels }}'}, stringData: {url: '{{ server }}'}}"
    legacy = policy(_CONFIG.replace("ConfigMap", "Secret") % ("register", data), _ACCESS)
    assert agree(legacy, TRIGGERS[:3], secrets) == 2
    documents = [Resource(body, _MEMORY) for body in convert(legacy).documents]
    (made,) = generated(documents, TRIGGERS[1], secrets)
    assert made["metadata"]["labels"] == {
        **TRIGGERS[1]["metadata"]["labels"],
        "kind": "workload",
        "of": "team-a",
    }
    assert made["stringData"] == {"url": "https://a.example:6443"}


def test_a_proof_takes_what_cannot_be_made_for_the_same_fault() -> None:
    """The old form passes and fails later, in the background; the new one fails at once."""
    legacy = policy(_CONFIG % ("gen", "{data: {n: '{{ request.object.metadata.labels.env }}'}}"))
    documents = [Resource(body, _MEMORY) for body in convert(legacy).documents]
    found = prove(legacy, documents, options=ProofOptions(budget=0.5))
    assert found.equal, found.differences
    assert found.decided


def test_what_was_yaml_stays_yaml() -> None:
    (document,) = convert(policy(_CONFIG % ("gen", "{data: {k: v}}"))).documents
    assert document["spec"]["generate"] == tables(__file__)["what_was_yaml_stays_yaml"]


def test_settings_are_kept_and_what_differs_is_told() -> None:
    generate = yaml.safe_load(_CONFIG % ("gen", "{}"))
    settings = {"synchronize": True, "generateExisting": True}
    conversion = convert(policy(json.dumps({**generate, **settings})))
    (document,) = conversion.documents
    assert document["spec"]["evaluation"] == {
        "generateExisting": {"enabled": True},
        "synchronize": {"enabled": True},
    }
    changes = " ".join(conversion.outcomes[0].changes)
    assert "#17594" in changes
    assert "#17452" in changes
    assert "orphanDownstreamOnPolicyDelete" in changes
    (once,) = convert(policy(json.dumps(generate))).outcomes[0].changes
    assert "writes what was generated again" in once


def test_existing_objects_have_no_operation() -> None:
    generate = yaml.safe_load(_CONFIG % ("gen", "{}"))
    match = {"resources": {"kinds": ["Namespace"], "operations": ["CREATE"]}}
    legacy = policy(
        json.dumps({**generate, "generateExisting": True}), json.dumps({"match": {"any": [match]}})
    )
    (document,) = convert(legacy).documents
    assert "evaluation" not in document["spec"]
    rules = document["spec"]["matchConstraints"]["resourceRules"]
    assert [each["operations"] for each in rules] == [["CREATE"]]


def test_rules_that_cannot_fail_share_a_policy() -> None:
    legacy = policy(_CONFIG % ("one", "{}"))
    (rule,) = legacy.body["spec"]["rules"]
    two = {**rule, "name": "two", "generate": yaml.safe_load(_CONFIG % ("two", "{}"))}
    fails = _CONFIG % ("three", "{data: {n: '{{ request.object.metadata.labels.env }}'}}")
    three = {**rule, "name": "three", "generate": yaml.safe_load(fails)}
    legacy = policy("{}", spec={"background": False, "rules": [rule, two, three]})
    documents = convert(legacy).documents
    assert [len(each["spec"]["generate"]) for each in documents] == [2, 1]
    assert agree(legacy, TRIGGERS, WORLD) == 7


@from_table("generate", "reason")
def test_rules_without_a_form_are_left(generate: str, reason: str) -> None:
    try:
        conversion = convert(policy(generate))
    except CompileError:
        pytest.skip("Kyverno refuses it")
    assert not conversion.documents
    assert reason in conversion.outcomes[0].reason


def test_a_loop_without_a_list_lets_no_other_generate() -> None:
    loop = (
        "{list: request.object.spec.%s, apiVersion: v1, kind: ConfigMap, name: '%s', namespace: a, "
        "data: {data: {e: '{{ element }}'}}}"
    )
    loops = [loop % ("externalIPs", "one"), loop % ("loadBalancerSourceRanges", "two")]
    legacy = policy(f"{{foreach: [{', '.join(loops)}]}}", kinds="Service")
    both = {"externalIPs": ["a"], "loadBalancerSourceRanges": ["b"]}
    specs = [both, *({key: texts} for key, texts in both.items()), {}]
    assert agree(legacy, [_object("Service", "web", "a", spec=each) for each in specs], []) == 2


@from_table("loop", "count")
def test_loops_number_their_elements_and_clone(loop: str, count: int) -> None:
    generate = f"{{foreach: [{{list: request.object.spec.ports, {loop}}}]}}"
    sources = [*WORLD, _object("Secret", "http", "default", type="Opaque")]
    assert agree(policy(generate, kinds="Service"), TRIGGERS, sources) == count


def test_the_number_of_an_element_of_several_lists_is_left() -> None:
    loop = (
        "{list: 'request.object.spec.containers[].ports[]', apiVersion: v1, kind: ConfigMap, "
        "name: 'c-{{ elementIndex }}', namespace: x, data: {data: {a: b}}}"
    )
    (outcome,) = convert(policy(f"{{foreach: [{loop}]}}", kinds="Pod")).outcomes
    assert "of several lists" in outcome.reason


def test_a_loop_over_namespaces_has_a_variable_that_is_no_word_of_cel() -> None:
    generate = """
    foreach:
    - list: request.object.data.namespaces || '' | split(@, ',')
      apiVersion: v1
      kind: ConfigMap
      name: made
      namespace: "{{ element }}"
      data: {data: {a: b}}
"""
    (made,) = convert(policy(generate, kinds="ConfigMap")).documents
    (step,) = made["spec"]["generate"]
    assert ".all(item," in step["expression"]


def test_a_value_that_is_missing_keeps_everything_from_being_generated() -> None:
    made = "apiVersion: v1, kind: ConfigMap, name: a, namespace: a, data: {data: {of: '%s'}}"

    def changes(value: str, kind: str) -> tuple[str, ...]:
        found = converted(f"generate: {{{made % value}}}", kind)
        assert found.reason == ""
        return found.changes

    assert NULL_VALUES in changes("{{ request.object.spec.ports[0].name }}", "Service")
    image = "{{ request.object.spec.template.spec.containers[0].image }}"
    assert NULL_VALUES not in changes(image, "Deployment")
