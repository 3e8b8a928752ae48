"""What policies need beside themselves."""

from typing import Any

import pytest

from chartkit.charts.rbac.permissions import as_json, needs
from chartkit.charts.rbac.requirements import Needs
from chartkit.documents.reader import read_text
from chartkit.model import Body
from tests.data import from_table, tables

MATCH = "    match: {any: [{resources: {kinds: [%s]}}]}\n"


def policy(rule: str, kinds: str = "ConfigMap", spec: str = "") -> Body:
    text = (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n"
        f"spec:\n{spec}  rules:\n  - name: r\n{MATCH % kinds}{rule}"
    )
    return body_of(text)


def body_of(text: str) -> Body:
    body: Body = read_text(text, "policy.yaml")[0].body
    return body


def cel(kind: str, spec: str) -> Body:
    return body_of(
        f"apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: p}}\nspec:\n{spec}"
    )


def shown(found: Needs) -> list[str]:
    """`background /secrets get,list`, with `scan` or the guessed kind after it."""
    return [
        " ".join(
            filter(
                None,
                (
                    each.controller.value.removesuffix("-controller"),
                    f"{each.group}/{each.resource}",
                    ",".join(each.verbs),
                    "scan" if each.scan else "",
                    each.guessed,
                ),
            )
        )
        for each in found.permissions
    ]


def notes(found: Needs) -> list[str]:
    return [each.message for each in found.unknown]


GENERATE = (
    "    generate:\n      apiVersion: %s\n      kind: %s\n      name: x\n      namespace: y\n"
)


@from_table("rule", "expected")
def test_generate_and_existing(rule: str, expected: list[str]) -> None:
    assert shown(needs([policy(rule)])) == expected


def test_server_side_apply_patches() -> None:
    rule = GENERATE % ("v1", "Secret")
    found = needs([policy(rule, spec="  useServerSideApply: true\n")])
    assert shown(found) == ["background /secrets create,get,patch"]


def test_what_sets_a_rule_off_is_looked_up_again() -> None:
    found = needs([policy(GENERATE % ("v1", "ConfigMap"), kinds="example.com/v1/Widget")])
    assert shown(found) == [
        "background example.com/widgets get,list Widget",
        "reports example.com/widgets get,list,watch scan Widget",
    ]


CALL = "    context:\n    - name: c\n      apiCall: {urlPath: '%s'}\n    validate: {deny: {}}\n"


@from_table("url", "expected")
def test_permissions_calls(url: str, expected: list[str]) -> None:
    """Admission and scans call; what `view` gives (namespaces, pods) is there already."""
    found = needs([policy(CALL % url)])
    both = [f"admission {each}" for each in expected]
    assert shown(found) == both + [f"reports {each} scan" for each in expected]
    assert not found.unknown


@pytest.mark.parametrize(
    "url",
    ["{{ request.object.data.url }}", "/api/v1/{{ kinds }}/x", "/apis/{{ g }}/v1/x", "/metrics"],
)
def test_calls_that_no_role_can_name(url: str) -> None:
    found = needs([policy(CALL % url)])
    assert not found.permissions
    assert [each.path[-2:] for each in found.unknown] == [("apiCall", "urlPath")] * len(
        found.unknown
    )
    assert url in notes(found)[0]


def test_calls_that_post_and_that_stand_deeper() -> None:
    rule = (
        "    validate:\n      foreach:\n      - list: l\n        context:\n        - name: c\n"
        "          apiCall:\n            method: POST\n"
        "            urlPath: /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\n"
    )
    found = needs([policy(rule, spec="  background: false\n")])
    assert shown(found) == ["admission authorization.k8s.io/selfsubjectaccessreviews create"]


def test_payload_has_no_context_of_the_policys() -> None:
    rule = GENERATE % ("v1", "ConfigMap") + (
        "      data:\n        context:\n        - apiCall: {urlPath: /api/v1/nodes}\n"
    )
    assert not needs([policy(rule)]).permissions


def test_scans_read_what_is_judged_but_no_secrets() -> None:
    found = needs([policy("    validate: {deny: {}}\n", kinds="Role, Secret, Pod, Pod/exec")])
    assert shown(found) == ["reports rbac.authorization.k8s.io/roles get,list,watch scan"]
    assert "does not open" in notes(found)[0]
    assert not needs([policy("    mutate: {}\n", kinds="Secret")]).unknown
    without = policy("    validate: {deny: {}}\n", kinds="Role", spec="  background: false\n")
    assert needs([without]) == Needs()


def test_what_else_policies_read() -> None:
    rule = (
        "    context:\n"
        "    - {name: a, configMap: {namespace: ns, name: cm}}\n"
        "    - {name: b, configMap: {namespace: '{{ request.namespace }}', name: cm}}\n"
        "    - {name: c, globalReference: {name: nodes}}\n"
        "    validate: {deny: {}}\n"
    )
    found = needs([policy(rule)])
    assert [str(each) for each in found.config_maps] == ["ns/cm"]
    assert found.global_entries == ("nodes",)
    assert notes(found) == ["a variable says which ConfigMap: '{{ request.namespace }}/cm'"]
    assert found.unknown[0].path == ("spec", "rules", 0, "context", 1, "configMap")


@from_table("api_version", "kind", "said")
def test_targets_that_cannot_be_known(api_version: str, kind: str, said: str) -> None:
    rule = f"    mutate:\n      targets:\n      - {{apiVersion: {api_version}, kind: {kind}}}\n"
    found = needs([policy(rule)])
    assert not found.permissions
    assert notes(found) == [said]
    assert found.unknown[0].path in ((), ("spec", "rules", 0, "mutate", "targets", 0, "kind"))


def test_rights_that_are_given_away_are_told() -> None:
    found = needs([policy(GENERATE % ("rbac.authorization.k8s.io/v1", "RoleBinding"))])
    assert shown(found) == ["background rbac.authorization.k8s.io/rolebindings get"]
    assert "bind or escalate" in notes(found)[0]


def test_definitions_name_their_kinds() -> None:
    definition: Body = {
        "spec": {"group": "example.com", "names": {"kind": "Relay", "plural": "relays"}}
    }
    rule = GENERATE % ("example.com/v1", "Relay")
    assert shown(needs([policy(rule, kinds="Relay")], [definition, {}])) == [
        "background example.com/relays create,get,list",
        "reports example.com/relays get,list,watch scan",
    ]


def test_a_resource_that_is_named_confirms_a_guess() -> None:
    guessing = policy(GENERATE % ("example.com/v1", "Widget"))
    naming = policy(CALL % "/apis/example.com/v1/widgets")
    for bodies in ([guessing, naming], [naming, guessing]):
        assert all(not each.guessed for each in needs(bodies).permissions)


@pytest.mark.parametrize("kind", ["ClusterCleanupPolicy", "CleanupPolicy"])
def test_permissions_cleanup(kind: str) -> None:
    body = body_of(
        f"apiVersion: kyverno.io/v2\nkind: {kind}\nmetadata: {{name: p}}\nspec:\n"
        "  schedule: '0 * * * *'\n"
        "  match: {any: [{resources: {kinds: [Pod, apps/v1/ReplicaSet]}}]}\n"
        "  context: [{name: n, apiCall: {urlPath: /api/v1/nodes}}]\n"
    )
    assert shown(needs([body])) == [
        "cleanup /nodes list",
        "cleanup /pods delete,list",
        "cleanup apps/replicasets delete,list",
    ]


CONSTRAINTS = (
    "  matchConstraints:\n    resourceRules:\n"
    "    - {apiGroups: ['%s'], apiVersions: [v1], operations: [CREATE], resources: [%s]}\n"
)


def test_permissions_deleting() -> None:
    body = cel("DeletingPolicy", CONSTRAINTS % ("batch", "jobs") + "  schedule: '0 * * * *'\n")
    assert shown(needs([body])) == ["cleanup batch/jobs delete,list"]


def test_validating_reads_what_expressions_ask_for() -> None:
    spec = CONSTRAINTS % ("rbac.authorization.k8s.io", "clusterroles") + (
        "  variables:\n"
        "  - {name: api, expression: '\"example.com/v1\"'}\n"
        "  - name: one\n"
        '    expression: resource.Get(variables.api, "widgets", "ns", object.metadata.name)\n'
        '  - {name: cm, expression: \'resource.Get("v1", "configmaps", "ns", "teams").data\'}\n'
        '  - {name: all, expression: \'globalContext.Get("nodes", "")\'}\n'
        "  validations:\n"
        "  - expression: resource.List(object.apiVersion, 'pods', '').items.size() > 0\n"
    )
    found = needs([cel("ValidatingPolicy", spec)])
    assert shown(found) == [
        "admission example.com/widgets get",
        "reports example.com/widgets get scan",
        "reports rbac.authorization.k8s.io/clusterroles get,list,watch scan",
    ]
    assert [str(each) for each in found.config_maps] == ["ns/teams"]
    assert found.global_entries == ("nodes",)
    assert notes(found) == ["an expression says which resource resource.List asks for"]
    assert found.unknown[0].path == ("spec", "validations", 0, "expression")


@from_table("targets", "expected")
def test_mutating_existing(targets: str, expected: list[str]) -> None:
    spec = (
        CONSTRAINTS % ("", "secrets")
        + targets
        + ("  evaluation: {mutateExisting: {enabled: true}, background: {enabled: false}}\n")
    )
    assert shown(needs([cel("MutatingPolicy", spec)])) == expected


def test_mutating_what_an_expression_finds() -> None:
    spec = CONSTRAINTS % ("", "configmaps") + (
        "  targetMatchConstraints: {expression: variables.found}\n"
        "  evaluation: {mutateExisting: {enabled: true}}\n"
    )
    assert notes(needs([cel("MutatingPolicy", spec)])) == [
        "an expression says which objects are changed"
    ]


def generating(variables: str, expression: str, rest: str = "") -> dict[str, Any]:
    spec = f"{CONSTRAINTS % ('', 'namespaces')}  variables:\n{variables}  generate:\n"
    return cel("GeneratingPolicy", f"{spec}  - expression: {expression}\n{rest}")


def test_generating_written_out() -> None:
    variables = (
        "  - name: made\n    expression: >-\n"
        '      [{"kind": dyn("Secret"), "apiVersion": dyn("v1"), "metadata": dyn({"name": "n",\n'
        '        "ownerReferences": dyn([{"apiVersion": "v1", "kind": "Pod", "name": "p"}])}),\n'
        '        "data": dyn({"kind": "no"})}]\n'
        '  - {name: cm, expression: \'resource.Get("v1", "configmaps", "a", "b").data\'}\n'
    )
    body = generating(variables, "generator.Apply(object.metadata.name, variables.made)")
    found = needs([body])
    assert shown(found) == ["background /secrets create,get,update"]
    assert [str(each) for each in found.config_maps] == ["a/b"]
    assert not found.unknown


def test_generating_copies() -> None:
    variables = '  - {name: source, expression: \'resource.Get("v1", "secrets", "a", "b")\'}\n'
    rest = "  evaluation: {synchronize: {enabled: true}}\n  useServerSideApply: true\n"
    body = generating(variables, "generator.Apply('x', [variables.source])", rest)
    assert shown(needs([body])) == ["background /secrets create,delete,get,list,patch,update,watch"]


def test_generating_from_a_template() -> None:
    spec = CONSTRAINTS % ("", "namespaces") + (
        "  generate:\n  - template:\n      interpolate: cel\n      value: |\n"
        "        apiVersion: v1\n        kind: Secret\n        metadata:\n"
        "          name: (( string(object.metadata.name) ))\n"
        "        ---\n        apiVersion: v1\n        kind: (( variables.kind ))\n"
    )
    found = needs([cel("NamespacedGeneratingPolicy", spec)])
    assert shown(found) == ["background /secrets create,get,update"]
    assert notes(found) == ["an expression says which kind is generated"]


def test_generating_what_nobody_can_see() -> None:
    body = generating("  - {name: a, expression: object.spec}\n", "generator.Apply('x', [object])")
    assert notes(needs([body])) == ["an expression says what is generated"]


def test_wildcards_in_constraints_are_told() -> None:
    found = needs([cel("ValidatingPolicy", CONSTRAINTS % ("*", "widgets"))])
    assert notes(found) == ["'*/widgets' matches resources that are not named"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"apiVersion": "v1", "kind": "Policy"},
        {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "spec": {"rules": ["x", {}]}},
        {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "spec": 1},
        {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}
        | {"spec": {"rules": [{"generate": {"kind": 1}, "mutate": {"targets": [1, {}]}}]}},
        {"apiVersion": "policies.kyverno.io/v1", "kind": "GeneratingPolicy", "spec": []},
        {"apiVersion": "policies.kyverno.io/v1", "kind": "GeneratingPolicy"}
        | {"spec": {"generate": [1, {}], "variables": [1], "matchConstraints": 3}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"},
    ],
)
def test_wrong_and_foreign_policies_need_nothing(body: Body) -> None:
    assert needs([body]) == Needs()


def test_for_templates() -> None:
    found = needs([policy(GENERATE % ("example.com/v1", "Widget"), kinds="Role")])
    assert as_json(found) == tables(__file__)["for_templates"]


@pytest.mark.parametrize("kind", ["ValidatingPolicy", "GeneratingPolicy", "DeletingPolicy"])
def test_parts_of_objects_are_not_looked_up(kind: str) -> None:
    found = needs([cel(kind, CONSTRAINTS % ("", "pods/exec, nodes/status"))])
    assert not found.permissions


@pytest.mark.parametrize(
    "body",
    [
        policy(CALL % "/api/v1/namespaces/a/services/b/proxy/metrics"),
        policy(CALL % "/api/v1/*"),
        policy(CALL % "/apis/*/v1/widgets"),
        cel(
            "ValidatingPolicy", '  validations: [{expression: \'resource.List("v1", "*", "")\'}]\n'
        ),
        policy("    mutate:\n      targets:\n      - {apiVersion: v1, kind: Pod/exec, name: n}\n"),
        cel(
            "ValidatingPolicy",
            '  validations: [{expression: \'resource.Get("v1", "nodes/proxy", "", "n")\'}]\n',
        ),
    ],
)
def test_nothing_opens_what_one_connects_to(body: Body) -> None:
    """A GET of pods/exec runs commands; `*` would be Secrets too."""
    found = needs([body])
    opened = [f"{each.group}{each.resource}" for each in found.permissions]
    assert not [each for each in opened if "/" in each or "*" in each]
    assert any(each.startswith("the chart does not open ") for each in notes(found))


def test_keys_of_images_in_secrets_are_told() -> None:
    rule = (
        "    verifyImages:\n    - attestors:\n      - entries:\n"
        "        - keys: {secret: {name: cosign, namespace: keys}}\n"
    )
    found = needs([policy(rule, kinds="Pod")])
    (unknown,) = found.unknown
    assert "Secret keys/cosign" in unknown.message
    assert unknown.path[-3:] == (0, "keys", "secret")
