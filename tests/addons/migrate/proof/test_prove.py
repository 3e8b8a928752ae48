"""Proofs of pairs that are equal, and of pairs that are not."""

import ast
from dataclasses import replace

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import Answer, Aspect, Proof, ProofOptions, prove
from chartkit.addons.migrate.proof.model import difference
from chartkit.model import Resource
from tests.addons.migrate.proof.policies import NOT_LATEST, legacy, policy, validating
from tests.data import beside, from_table

_TEXTS = beside(__file__)

_FEW = ProofOptions(budget=30, most_requests=700)


def _proof(old: Resource, *new: Resource) -> Proof:
    return prove(old, new, options=_FEW)


def test_equal_pair_has_no_difference() -> None:
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    proof = _proof(legacy(NOT_LATEST), new)
    assert proof.equal, proof.differences
    assert 500 < proof.requests <= 700
    assert proof.decided > 300


@pytest.mark.slow
def test_a_list_that_the_new_form_forgets_is_found_and_made_small() -> None:
    rule = NOT_LATEST + "            =(initContainers):\n              - image: '!*:latest'\n"
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    found = _proof(legacy(rule), new).differences
    assert [one.aspect for one in found] == [Aspect.RESULT]
    spec = found[0].case.document["object"]["spec"]
    (container,) = spec["initContainers"]
    assert container["image"] == ":latest"
    assert set(found[0].case.document) == {"object", "operation"}
    assert set(spec) == {"containers", "initContainers"}


def test_the_bound_of_a_number_is_reached() -> None:
    rule = """
      validate:
        message: "no"
        pattern:
          spec:
            replicas: ">=2"
"""
    same = validating(
        "object.spec.?replicas.orValue(0) >= 2", resources="deployments", group="apps"
    )
    assert _proof(legacy(rule, "[Deployment]"), same).equal
    off = validating("object.spec.?replicas.orValue(0) > 2", resources="deployments", group="apps")
    (found,) = _proof(legacy(rule, "[Deployment]"), off).differences
    assert found.case.document["object"]["spec"]["replicas"] == 2


def test_an_operation_that_the_new_form_forgets_is_found() -> None:
    rule = """
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - key: "{{ request.operation }}"
                operator: Equals
                value: DELETE
"""
    new = validating("request.operation != 'DELETE'", resources="configmaps")
    found = _proof(legacy(rule, "[ConfigMap]"), new).differences
    assert {one.case.document["operation"] for one in found} == {"DELETE"}


def test_a_user_that_the_new_form_forgets_is_found() -> None:
    rule = """
      exclude:
        any:
          - subjects:
              - kind: Group
                name: wheel
      validate:
        message: "no"
        deny: {}
"""
    background = "evaluation: {background: {enabled: false}}"
    new = validating("false", resources="configmaps", spec=background)
    found = _proof(legacy(rule, "[ConfigMap]", "background: false"), new).differences
    documents = [one.case.document for one in found]
    users = [one["userInfo"] for one in documents if one["operation"] == "CREATE"]
    assert users == [{"username": "x", "groups": ["wheel"]}]


def test_background_scans_are_compared() -> None:
    new = validating(
        "object.spec.containers.all(one, !one.image.endsWith(':latest'))",
        spec="evaluation: {background: {enabled: false}}",
    )
    found = _proof(legacy(NOT_LATEST), new).differences
    assert {one.aspect for one in found} == {Aspect.RESULT, Aspect.REPORT}
    assert all(one.case.is_background for one in found)


@pytest.mark.slow
def test_actions_are_compared() -> None:
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    old = legacy(NOT_LATEST, spec="validationFailureAction: Enforce")
    assert Aspect.ADMISSION in {one.aspect for one in _proof(old, new).differences}


@pytest.mark.slow
def test_messages_are_compared_without_what_kyverno_puts_around_them() -> None:
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    other = policy_with_message(new, "another")
    assert {one.aspect for one in _proof(legacy(NOT_LATEST), other).differences} == {Aspect.MESSAGE}


def policy_with_message(resource: Resource, message: str) -> Resource:
    spec = resource.body["spec"]
    validations = [{**one, "message": message} for one in spec["validations"]]
    return Resource({**resource.body, "spec": {**spec, "validations": validations}})


def test_mutated_objects_are_compared() -> None:
    old = legacy(
        """
      mutate:
        patchStrategicMerge:
          metadata:
            labels:
              +(team): core
""",
        "[ConfigMap]",
    )
    body = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: example}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          CONDITION
          Object{metadata: Object.metadata{labels: {"team": "core"}}}
"""
    wrong = policy(body.replace("CONDITION", ""))
    found = _proof(old, wrong).differences
    assert {one.aspect for one in found} == {Aspect.MUTATION}
    assert "team" in found[0].case.document["object"]["metadata"]["labels"]


def test_types_that_no_policy_expects_are_told_apart() -> None:
    rule = """
      validate:
        message: "no"
        pattern:
          spec:
            size: small
"""
    new = validating("object.?spec.?size.orValue('') == 'small'", resources="things", group="x.io")
    found = _proof(legacy(rule, "[x.io/v1/Thing]"), new).differences
    assert found
    assert not any(one.typed for one in found)


@pytest.mark.slow
def test_a_proof_is_the_same_every_time() -> None:
    rule = NOT_LATEST + "            =(initContainers):\n              - image: '!*:latest'\n"
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    first, second = (_proof(legacy(rule), new) for _ in range(2))
    assert [one.case for one in first.differences] == [one.case for one in second.differences]
    assert first.coverage == second.coverage
    assert first.left_out == second.left_out


@pytest.mark.slow
def test_objects_that_no_api_server_stores_are_left_out_and_counted() -> None:
    proof = _proof(legacy(NOT_LATEST), validating("size(object.spec.containers) > 0 || true"))
    assert proof.left_out["missing required fields"] > 0


def test_coverage_names_rules_validations_and_leaves() -> None:
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    places = {one.name: one for one in _proof(legacy(NOT_LATEST), new).coverage.places}
    assert set(places["rule only"].states) == {"pass", "fail"}
    assert set(places["rule autogen-only"].states) == {"pass", "fail"}
    validation = places["ValidatingPolicy/example/validations[0]"]
    assert set(validation.states) == {"true", "false"}
    image = places["object.spec.containers[].image"]
    assert {"met", "missed", "met among many", "missed among many"} <= set(image.states)


@pytest.mark.slow
def test_given_objects_are_asked_about_and_changed() -> None:
    body = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {tier: gold}}
spec: {containers: [{name: app, image: "registry.example/app:1.0"}]}
"""
    new = validating(
        "object.spec.containers.all(one, !one.image.endsWith(':latest')) || "
        "object.metadata.?labels.?tier.orValue('') == 'go' + 'ld'"
    )
    assert _proof(legacy(NOT_LATEST), new).equal
    found = prove(legacy(NOT_LATEST), [new], [policy(body)], options=_FEW).differences
    assert found
    assert found[0].case.document["object"]["metadata"]["labels"] == {"tier": "gold"}


@from_table("kind", "spec")
def test_policies_of_a_namespace_have_objects_there(kind: str, spec: str) -> None:
    old = policy(f"{kind}, metadata: {{name: p, namespace: shop}}, spec: {spec}}}")
    (body,) = convert(old).documents
    found = prove(old, [Resource(body)], options=ProofOptions(most_requests=200))
    assert found.decided > 0
    assert found.equal, found.differences
    elsewhere = {**body, "metadata": {**body["metadata"], "namespace": "other"}}
    found = prove(old, [Resource(elsewhere)], options=ProofOptions(most_requests=200))
    places = {one.case.document["object"]["metadata"]["namespace"] for one in found.differences}
    assert "shop" in places


def test_objects_are_in_a_namespace_that_exists() -> None:
    rule = """
      validate:
        cel:
          expressions:
          - expression: namespaceObject.metadata.name != 'closed'
            message: "no"
"""
    old = legacy(rule)
    proof = _proof(old, *(Resource(body, old.location) for body in convert(old).documents))
    assert {one.case.document["operation"] for one in proof.differences} <= {"DELETE"}
    assert proof.decided > 0


def test_what_a_list_of_clones_selects_is_there_to_be_cloned() -> None:
    old = legacy(_TEXTS["list"], "[Namespace]")
    new = [Resource(body, old.location) for body in convert(old).documents]
    assert prove(old, new, options=_FEW).decided > 0


def test_an_object_that_is_generated_twice_is_one() -> None:
    rule = """
      generate:
        foreach:
        - list: "request.object.data.names || '' | split(@, ',')"
          apiVersion: v1
          kind: ConfigMap
          name: "of-{{ element }}"
          namespace: default
          data: {data: {a: b}}
"""
    old = legacy(rule, "[ConfigMap]")
    new = [Resource(body, old.location) for body in convert(old).documents]
    proof = prove(old, new, options=ProofOptions(budget=30, most_requests=3000))
    assert proof.equal, proof.differences[0].case.document
    assert proof.decided > 0


@pytest.mark.slow
@from_table("part", "other")
def test_a_broken_conversion_is_found_with_a_request_that_is_stored(part: str, other: str) -> None:
    old = policy(_TEXTS["two-rules"])
    conversion = convert(old)
    (body,) = conversion.documents
    options = replace(proof_options(conversion, 30), most_requests=1500)
    assert prove(old, [Resource(body)], options=options).equal
    text = repr(body)
    assert part in text or part.replace("'", "\\'") in text
    for word, new in ((part, other), (part.replace("'", "\\'"), other.replace("'", "\\'"))):
        text = text.replace(word, new)
    found = prove(old, [Resource(ast.literal_eval(text))], options=options)
    assert any(one.stored for one in found.differences)


@pytest.mark.parametrize(
    "exclude", ["", "exclude: {any: [{resources: {namespaces: [kube-system]}}]}"]
)
def test_scans_and_old_objects_are_judged_without_mutations(exclude: str) -> None:
    """A policy that adds what it asks for: neither a background scan nor the look at what an update
    is of mutates first."""
    deployments = "match: {any: [{resources: {kinds: [Deployment]}}]}"
    old = policy(
        f"""
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: owner}}
spec:
  rules:
    - name: owner
      {deployments}
      {exclude}
      validate: {{message: m, pattern: {{metadata: {{labels: {{owner: "?*"}}}}}}}}
    - name: add
      {deployments}
      mutate: {{patchStrategicMerge: {{metadata: {{labels: {{+(owner): none}}}}}}}}
"""
    )
    conversion = convert(old)
    options = replace(proof_options(conversion, 30), most_requests=700)
    proof = prove(old, [Resource(body) for body in conversion.documents], options=options)
    assert proof.equal, proof.differences
    assert proof.decided > 100


@from_table("expression", "deletes")
def test_deletions_of_a_rule_in_cel(expression: str, deletes: bool) -> None:
    """A rule that names no operations is asked about deletions, which have no object."""
    rule = f"""
      validate:
        cel: {{expressions: [{{expression: "{expression}", message: more}}]}}
"""
    conversion = convert(legacy(rule, "[Deployment]"))
    (new,) = conversion.documents
    (resources,) = new["spec"]["matchConstraints"]["resourceRules"]
    assert ("DELETE" in resources["operations"]) is deletes
    assert conversion.outcomes[0].drops_deletions is not deletes
    options = replace(proof_options(conversion, 30), most_requests=200)
    proof = prove(conversion.legacy, [Resource(new)], options=options)
    assert proof.equal, proof.differences


@pytest.mark.slow
def test_a_difference_behind_four_places_is_found() -> None:
    names = "request.object.spec.volumes[?contains(keys(@), 'emptyDir')].name"
    rule = f"""
      context:
        - name: unlimited
          variable: {{jmesPath: "{names}", default: []}}
      validate:
        message: "no"
        foreach:
          - list: request.object.spec.containers
            preconditions:
              any:
                - key: "{{{{ element.volumeMounts[].name || `[]` }}}}"
                  operator: AnyIn
                  value: "{{{{ unlimited }}}}"
            pattern:
              resources: {{limits: {{memory: "?*"}}, requests: {{memory: "?*"}}}}
"""
    conversion = convert(legacy(rule))
    (document,) = conversion.documents
    (validation,) = document["spec"]["validations"]
    right = validation["expression"]
    wrong = right.replace(".?requests", ".?limits")
    assert right != wrong
    options = replace(proof_options(conversion), stops_early=True)
    for expression, equal in ((right, True), (wrong, False)):
        validations = [{**validation, "expression": expression}]
        body = {**document, "spec": {**document["spec"], "validations": validations}}
        assert prove(conversion.legacy, [Resource(body)], options=options).equal is equal


@pytest.mark.parametrize(
    ("failed", "aspect"), [((), Aspect.MUTATION), (("no such key",), None)], ids=["made", "refused"]
)
def test_patches_of_refused_requests_are_not_compared(
    failed: tuple[str, ...], aspect: Aspect | None
) -> None:
    body = {"kind": "Pod"}
    assert difference(Answer(failed=failed), Answer(failed=failed, patched=body)) is aspect


def test_an_object_of_a_custom_kind_is_never_another_value() -> None:
    rule = """
      mutate:
        patchStrategicMerge:
          spec:
            upgrade:
              crds: CreateReplace
"""
    old = legacy(rule, "[HelmRelease]")
    conversion = convert(old)
    new = [Resource(body) for body in conversion.documents]
    proof = prove(old, new, options=replace(proof_options(conversion), most_requests=700))
    assert proof.requests > 50
    assert proof.equal, proof.differences
