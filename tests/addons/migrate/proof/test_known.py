"""Differences that a conversion names: each is found by a proof, and explains nothing else."""

from dataclasses import replace

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import (
    ENTRIES_BY_WORD,
    EVERY_KEY,
    EXISTING,
    FAILING_CONDITIONS,
    IMAGE_PARTS,
    LISTS_AS_TEXTS,
    LISTS_IN_TEXTS,
    NO_DATA,
    OWN_QUOTES,
    PLAIN_TEXTS,
    REPLICATION_CONTROLLERS,
    SERVICE_ACCOUNTS,
)
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import Proof, prove
from chartkit.model import Resource
from tests.addons.migrate.proof.policies import legacy
from tests.data import beside

_TEXTS = beside(__file__)

_CONDITIONS = """
          conditions:
            all:
"""
_DENY = f"""
      validate:
        message: "no"
        deny:{_CONDITIONS}"""
_CLAIMS = "request.object.spec.volumes[?contains(keys(@), 'persistentVolumeClaim')] | length(@)"
_LENGTH = f"""\
              - key: "{{{{ {_CLAIMS} }}}}"
                operator: GreaterThan
                value: 0
"""
_CREATE = """\
              - {key: "{{ request.operation }}", operator: Equals, value: CREATE}
"""
_OF_CONFIGMAP = """
      context:
        - {name: teams, configMap: {name: teams, namespace: default}}
"""
_RATIO = _TEXTS["ratio"]
_ACCOUNT = f"""{_DENY}\
              - {{key: "{{{{ serviceAccountName }}}}", operator: Equals, value: app}}
"""
_TEAM = f"""{_OF_CONFIGMAP}{_DENY}\
              - key: "{{{{ request.object.metadata.labels.team || '' }}}}"
                operator: Equals
                value: "{{{{ teams.data.team }}}}"
"""
_LISTED = f"""{_OF_CONFIGMAP}{_DENY}\
              - key: "{{{{ request.object.metadata.labels.team || '' }}}}"
                operator: AnyNotIn
                value: "{{{{ teams.data.teams }}}}"
"""
_OF_IMAGE = _TEXTS["of-image"]
_NAMED_IMAGES = f"""
      context:
        - name: some_images
          variable: {{jmesPath: "request.object.spec.containers[].image"}}
{_DENY}\
              - key: "{{{{ some_images }}}}"
                operator: AnyIn
                value: [":", "x"]
"""
_QUOTED = f"""{_DENY}\
              - key: "{{{{ split('{{{{ request.object.metadata.annotations.team }}}}', '-')[0] }}}}"
                operator: Equals
                value: "it's"
"""
_MUTATE = f"""
      preconditions:
        all:
{_LENGTH}{_CREATE}
      mutate:
        patchStrategicMerge: {{metadata: {{labels: {{a: b}}}}}}
"""


def _proof(rule: str, kind: str, *, named: bool) -> tuple[Proof, set[str]]:
    background = "background: false" if "serviceAccountName" in rule else ""
    old = legacy(rule, f"[{kind}]", background)
    conversion = convert(old)
    changes = {change for one in conversion.outcomes for change in (*one.changes, *one.remarks)}
    forms = [Resource(body, old.location) for body in conversion.documents]
    assert forms, conversion.outcomes
    options = proof_options(conversion, 2.0)
    if not named:
        options = type(options)(budget=2.0)
    return prove(old, forms, options=options), changes


_PLAIN = _TEXTS["plain"]
_AMONG_TEXTS = (
    _DENY
    + """
              - {key: "{{ request.object.data.a || '' }}", operator: AnyIn, value: '["b", "c"]'}
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "kind", "change"),
    [
        (_MUTATE, "Pod", FAILING_CONDITIONS),
        (_TEAM, "Service", NO_DATA),
        (_LISTED, "Service", LISTS_IN_TEXTS),
        (_ACCOUNT, "ConfigMap", SERVICE_ACCOUNTS),
        (_NAMED_IMAGES, "Pod", IMAGE_PARTS),
        (_PLAIN, "ConfigMap", PLAIN_TEXTS),
        (_AMONG_TEXTS, "ConfigMap", LISTS_AS_TEXTS),
    ],
)
def test_a_difference_that_is_named(rule: str, kind: str, change: str) -> None:
    proof, changes = _proof(rule, kind, named=True)
    assert change in changes
    assert proof.named.get(change)
    assert proof.equal, proof.differences
    assert not _proof(rule, kind, named=False)[0].equal


@pytest.mark.slow
@pytest.mark.parametrize("rule", [_OF_IMAGE, _RATIO])
def test_a_condition_that_fails_decides_as_before(rule: str) -> None:
    proof, changes = _proof(rule, "Pod", named=True)
    assert not changes
    assert proof.equal, proof.differences


@pytest.mark.slow
def test_conditions_behind_the_operation_decide_in_the_same_order() -> None:
    rule = _MUTATE.replace(_LENGTH + _CREATE, _CREATE + _LENGTH)
    proof, changes = _proof(rule, "Pod", named=True)
    assert FAILING_CONDITIONS not in changes
    assert proof.equal, proof.differences


@pytest.mark.slow
def test_quotes_in_a_text_of_a_query_are_named() -> None:
    proof, changes = _proof(_QUOTED, "Pod", named=True)
    assert changes == set()
    assert proof.named.get(OWN_QUOTES.text)
    assert proof.equal, proof.differences
    assert not _proof(_QUOTED, "Pod", named=False)[0].equal


def test_one_of_several_annotations_is_chance() -> None:
    rule = """
      validate:
        message: "no"
        pattern: {metadata: {=(annotations): {"=(example.org/*)": "yes"}}}
"""
    conversion = convert(legacy(rule, "[ConfigMap]"))
    assert EVERY_KEY in conversion.outcomes[0].remarks
    (document,) = conversion.documents
    annotations = {"example.org/a": "yes", "example.org/b": "no"}
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    metadata = {"name": "x", "namespace": "x"}
    several = Resource({**head, "metadata": {**metadata, "annotations": annotations}})
    options = replace(proof_options(conversion, 30), most_requests=150)
    proof = prove(conversion.legacy, (Resource(document),), (several,), options=options)
    assert proof.equal, proof.differences
    assert proof.named[EVERY_KEY] > 0
    named = replace(options.named, wildcards=frozenset())
    options = replace(options, named=named)
    assert not prove(conversion.legacy, (Resource(document),), (several,), options=options).equal


@pytest.mark.parametrize(
    "extended",
    [
        "validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}",
        "mutate: {patchStrategicMerge: {spec: {+(enableServiceLinks): false}}}",
    ],
)
def test_policies_in_cel_are_not_extended_to_replication_controllers(extended: str) -> None:
    rule = f"""
      {extended}
    - name: mutates
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      mutate: {{patchStrategicMerge: {{metadata: {{labels: {{+(tier): none}}}}}}}}
"""
    conversion = convert(legacy(rule))
    forms = [Resource(body) for body in conversion.documents]
    controller = Resource(_REPLICATION_CONTROLLER)
    options = replace(proof_options(conversion, 30), most_requests=60)
    proof = prove(conversion.legacy, forms, (controller,), options=options)
    assert proof.equal, proof.differences
    assert proof.named[REPLICATION_CONTROLLERS.text] > 0


def test_a_rule_about_replication_controllers_has_to_stay_one() -> None:
    rule = """
      validate: {message: "no", pattern: {metadata: {labels: {team: "?*"}}}}
"""
    conversion = convert(legacy(rule, "[ReplicationController]"))
    (body,) = conversion.documents
    rules = [{**body["spec"]["matchConstraints"]["resourceRules"][0], "resources": ["services"]}]
    other = {**body, "spec": {**body["spec"], "matchConstraints": {"resourceRules": rules}}}
    options = replace(proof_options(conversion, 30), most_requests=60)
    assert prove(conversion.legacy, [Resource(body)], options=options).equal
    assert not prove(conversion.legacy, [Resource(other)], options=options).equal


_REPLICATION_CONTROLLER = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "metadata": {"name": "x", "namespace": "x"},
    "spec": {
        "selector": {"app": "x"},
        "template": {"spec": {"containers": [{"name": "x", "image": "x"}]}},
    },
}


def test_deletions_are_of_objects_as_the_rule_reads_them() -> None:
    rule = """
      context:
        - name: owner
          variable: {jmesPath: "request.oldObject.metadata.labels.owner || ''"}
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - {key: "{{ request.operation }}", operator: Equals, value: DELETE}
              - {key: "{{ owner }}", operator: NotEquals, value: ""}
"""
    proof, _ = _proof(rule, "Widget", named=True)
    assert proof.decided
    assert proof.equal, proof.differences


def test_an_entry_whose_name_is_a_word_of_a_key_is_loaded() -> None:
    rule = """
      preconditions:
        all:
          - key: "{{ request.object.metadata.labels.\\"example.org/owner\\" || '' }}"
            operator: NotEquals
            value: ""
      context:
        - name: owner
          variable: {jmesPath: 'request.object.metadata.labels."example.org/owner"'}
      validate:
        message: "{{ owner }} needs a team"
        pattern: {metadata: {labels: {team: "?*"}}}
"""
    proof, _ = _proof(rule, "ConfigMap", named=True)
    assert proof.named.get(ENTRIES_BY_WORD.text)
    assert proof.equal, proof.differences


@pytest.mark.slow
def test_the_text_of_a_pattern_itself_is_a_difference_of_all() -> None:
    pattern = "      validate: {pattern: {metadata: {annotations: {class: 'haproxy | nginx'}}}}\n"
    proof, changes = _proof(f"\n{pattern}", "Ingress", named=True)
    assert (proof.equal, proof.decided > 10, changes) == (True, True, set())


@pytest.mark.slow
def test_an_image_that_a_mutation_takes_from_a_registry_is_there() -> None:
    rule = """
      mutate:
        foreach:
        - list: request.object.spec.containers
          context:
          - name: found
            imageRegistry: {reference: "{{ element.image }}", jmesPath: resolvedImage}
          patchStrategicMerge:
            spec: {containers: [{name: "{{ element.name }}", image: "{{ found }}"}]}
"""
    proof, _ = _proof(rule, "Pod", named=True)
    assert proof.equal
    assert proof.decided > 10


def test_an_update_that_one_rule_refuses_and_another_reports_is_named() -> None:
    rules = [
        {
            "name": action.lower(),
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
            "validate": {
                "message": action,
                "failureAction": action,
                "pattern": {"metadata": {"labels": {action: "?*"}}},
            },
        }
        for action in ("Enforce", "Audit")
    ]
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}}
    conversion = convert(Resource({**body, "spec": {"rules": rules}}))
    forms = [Resource(document) for document in conversion.documents]
    options = replace(proof_options(conversion), most_requests=600)
    proof = prove(conversion.legacy, forms, options=options)
    assert proof.equal, proof.differences
    assert proof.named[EXISTING.text]
