"""Rules for releases of Kyverno, expressions, and what locks or burdens a cluster."""

from pathlib import Path

import pytest

from chartkit.catalog.policy_lint.rules import RULES
from tests.unit.catalog.policy_lint.linting import lint, marked

OWN = {rule.id: rule for rule in RULES if "CK720" <= rule.id < "CK750"}
MATCH = "name: r\nmatch: {any: [{resources: {kinds: [Pod]}}]}\n"


def label(expression: str, context: str = "") -> str:
    """A rule that writes what an expression gives to a label."""
    entries = f"context: [{context}]\n" if context else ""
    patch = f'{{metadata: {{labels: {{a: "{expression}"}}}}}}'
    return f"{MATCH}{entries}mutate: {{patchStrategicMerge: {patch}}}\n"


def about(kinds: str, spec: str = "", more: str = "", body: str = "") -> str:
    """A ClusterPolicy about kinds."""
    body = body or "validate: {message: m, pattern: {metadata: {labels: {a: b}}}}"
    return (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n"
        f"  background: false\n{spec}  rules:\n    - name: r\n"
        f"      match: {{any: [{{resources: {{kinds: [{kinds}]{more}}}}}]}}\n      {body}\n"
    )


def in_cel(resources: str, groups: str = '"*"', spec: str = "", kind: str = "Validating") -> str:
    """A policy in CEL about resources."""
    group = "policies.kyverno.io" if "Admission" not in kind else "admissionregistration.k8s.io"
    return (
        f"apiVersion: {group}/v1\nkind: {kind}Policy\nmetadata: {{name: p}}\nspec:\n{spec}"
        f"  matchConstraints:\n    resourceRules:\n"
        f"      - {{apiGroups: [{groups}], apiVersions: [v1], operations: [CREATE], "
        f"resources: [{resources}]}}\n  validations: [{{expression: 'true'}}]\n"
    )


def called(url: str, more: str = "") -> str:
    """A rule that asks the API server."""
    entry = f"{{name: a, apiCall: {{§urlPath: {url}{more}}}}}"
    condition = "{key: '{{ a }}', operator: Equals, value: x}"
    deny = f"validate: {{message: m, deny: {{conditions: {{any: [{condition}]}}}}}}"
    return f"{MATCH}context: [{entry}]\n{deny}\n"


def enforced(more: str, action: str = "Enforce") -> str:
    """A rule about Pods with an action."""
    pattern = "pattern: {metadata: {labels: {a: b}}}"
    return f"{MATCH}{more}validate: {{failureAction: {action}, message: m, {pattern}}}\n"


def admission(head: str, body: str, more: str = "") -> str:
    """A ValidatingAdmissionPolicy, and a document behind it."""
    return (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n"
        f"metadata: {{name: p}}\n{head}\n  matchConstraints:\n    resourceRules:\n"
        "      - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}\n"
        f"{body}{more}"
    )


TRUE = "  validations: [{expression: 'true', message: m}]\n"
BINDING = (
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"
    "metadata: {name: b}\nspec:\n  policyName: p\n"
)
IGNORE = "  failurePolicy: Ignore\n"
CONDITIONS = "  webhookConfiguration: {matchConditions: [{name: a, expression: 'true'}]}\n"
MUTATE = "mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}"
GRACE = "{name: grace, variable: {jmesPath: request.object.metadata.labels.grace, default: 30}}"
OLD = "\nkind: ClusterCleanupPolicy\nmetadata: {name: a}\n"
CLEANUP = OLD + "spec: {schedule: '* * * * *', match: {any: [{resources: {kinds: [Pod]}}]}}\n"
PROBLEMATIC = {
    "CK720": [
        enforced("").replace("failureAction", "§failureAction"),
        in_cel("pods", '""').replace("kind:", "§kind:"),
        "name: r\nmatch: {any: [{resources: {kinds: [Namespace]}}]}\ngenerate: {§generateExisting: "
        "true, kind: ConfigMap, apiVersion: v1, name: a, namespace: b, data: {data: {}}}\n",
    ],
    "CK721": [
        f"apiVersion: kyverno.io/v2alpha1{CLEANUP}",
        f"apiVersion: kyverno.io/v2beta1{CLEANUP}",
        about("Pod", IGNORE),
    ],
    "CK722": [
        admission("§spec:", "  validations: []\n"),
        admission("spec:", "  validations: [{expression: 'true', §reason: Never}]\n"),
        admission("spec:", TRUE).replace("operations: [CREATE]", "§operations: ['*', CREATE]"),
        admission("spec:", TRUE + "  variables: [§{name: a-b, expression: '1'}]\n"),
        admission("spec:", TRUE, "---\n" + BINDING + "  §validationActions: [Deny, Warn]\n"),
        admission("spec:", TRUE, "---\n" + BINDING.replace("spec:", "§spec:")),
    ],
    "CK730": [
        label("{{ §sum(`1`, `2`) }}"),
        label("a-{{ to_string(§add(length(request.object.spec.containers), '1')) }}"),
        label("{{ §add(request.object.metadata.labels.grace, `1`) }}"),
        label("{{ §subtract(`1`, grace) }}", GRACE),
        label("{{ §split(request.namespace) }}"),
    ],
    "CK731": [
        label("{{ replace_all(request.namespace, §dev, 'prd') }}"),
        label("{{ to_string(§grce) }}", GRACE),
        label("{{ join('-', [request.namespace, §suffix]) }}"),
    ],
    "CK732": [
        label("§{{ `{{ request.namespace }}` }}"),
        label("a-§{{- `{{ request.namespace }}` -}}"),
        label("{{ request.name }}-§{{`{{ request.namespace }}`}}"),
    ],
    "CK740": [
        about('§"*"'),
        about('§"*"', "  failurePolicy: Fail\n", ", operations: [CREATE]"),
        about('§"*"', more=", names: [a]"),
        in_cel('§"*"').replace("v1]", '"*"]'),
    ],
    "CK741": [
        about("Pod, §Node"),
        about("§coordination.k8s.io/v1/Lease"),
        in_cel("pods, §nodes", '""'),
        in_cel("§tokenreviews", "authentication.k8s.io"),
    ],
    "CK742": [
        about('§"*"', IGNORE, body=MUTATE),
        about('§"*"', IGNORE, ", operations: [CREATE]", MUTATE),
        about('§"*"', CONDITIONS, body=MUTATE),
    ],
    "CK743": [about('§"*/*"', IGNORE), about('§"*/status"', IGNORE), in_cel('§"*/*"', spec=IGNORE)],
    "CK744": [
        called("/api/v1/namespaces"),
        called("/apis/apps/v1/deployments", ", jmesPath: 'length(items)'"),
        called("/api/v1/nodes?limit=5", ", method: GET"),
    ],
    "CK745": [
        enforced("").replace("match:", "§match:"),
        enforced("exclude: {any: [{resources: {names: [a]}}]}\n").replace("match:", "§match:"),
        about("Pod", "  validationFailureAction: enforce\n").replace("match:", "§match:"),
    ],
}
"""Rules of ClusterPolicies and policies with a mistake behind each `§`."""
CORRECT = {
    "CK720": [
        MATCH + "validate: {message: m, pattern: {metadata: {labels: {a: b}}}}\n",
        in_cel("pods", '""', kind="ValidatingAdmission"),
        label("a"),
    ],
    "CK721": [
        f"apiVersion: kyverno.io/v2{CLEANUP}",
        about("Pod"),
        in_cel("pods", '""', kind="ValidatingAdmission"),
    ],
    "CK722": [
        admission("spec:", TRUE),
        admission("spec:", TRUE, "---\n" + BINDING + "  validationActions: [Deny, Audit]\n"),
        admission("spec:", TRUE).replace("[pods]", "['*', 'pods/exec']"),
        admission("spec:", "  auditAnnotations: [{key: a/b, valueExpression: '\"x\"'}]\n"),
        in_cel("pods", '""'),
    ],
    "CK730": [
        label("{{ add(to_number(request.object.metadata.labels.grace), `1`) }}"),
        label("{{ add('1Gi', request.object.metadata.labels.size) }}"),
        label("{{ sum([`1`, `2`]) }}"),
        label("{{ add(grace, `1`) }}", "{name: grace, variable: {value: 5}}"),
    ],
    "CK731": [
        label(
            "{{ replace_all(request.namespace, 'dev', suffix) }}",
            GRACE.replace("grace", "suffix", 1),
        ),
        label("{{ to_string(request.object.spec.containers[?name == image].image) }}"),
        label("{{ to_string(images.containers.*.registry | sort(@)) }}"),
        label("{{ to_string(map(&name, request.object.spec.containers)) }}"),
    ],
    "CK732": [
        label("{{ request.namespace }}"),
        label("{{ request.namespace || `{}` }}"),
        label("{{ to_string(`[1]`) }}-{{ request.name }}"),
    ],
    "CK740": [
        about('"*"', IGNORE),
        about('"*"', CONDITIONS),
        about('"*"', more=", operations: [DELETE]"),
        about("Pod"),
        in_cel('"*"', spec="  matchConditions: [{name: a, expression: 'true'}]\n"),
        in_cel('"*"', kind="ValidatingAdmission"),
    ],
    "CK741": [
        about("Node", IGNORE),
        about("longhorn.io/v1beta2/Node"),
        about("certificates.k8s.io/v1beta1/CertificateSigningRequest"),
        about("Node", more=", operations: [DELETE]"),
        in_cel("nodes", "longhorn.io"),
    ],
    "CK742": [
        about('"*"', IGNORE, ", namespaces: [shop]", MUTATE),
        about("Pod, Service", IGNORE, body=MUTATE),
        about('"*"', IGNORE),
        about(
            '"*"',
            IGNORE,
            body="preconditions: {all: [{key: a, operator: Equals, value: a}]}\n      " + MUTATE,
        ),
    ],
    "CK743": [
        about("Pod/exec", IGNORE),
        about('"*"', IGNORE),
        in_cel("pods/exec", '""', spec=IGNORE),
    ],
    "CK744": [
        called("'/api/v1/namespaces/{{ request.namespace }}'"),
        called("/apis/authorization.k8s.io/v1/subjectaccessreviews", ", method: POST"),
        label("{{ grace }}", GRACE),
    ],
    "CK745": [
        enforced("", "Audit"),
        enforced("exclude: {any: [{resources: {namespaces: [kube-system]}}]}\n"),
        enforced("").replace("[Pod]", "[Ingress]"),
    ],
}


def _listed(cases: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(rule, text) for rule, texts in cases.items() for text in texts]


@pytest.mark.parametrize(("rule", "text"), _listed(PROBLEMATIC))
def test_a_burden_is_named_at_its_place(tmp_path: Path, rule: str, text: str) -> None:
    found = lint(tmp_path, text.replace("§", ""), OWN[rule])
    places = [each.location for each in found if each.rule_id == rule]
    wanted = marked(text) if "§" in text else [(1, 0)]
    assert [(at.line, at.column) for at in places if at is not None] == wanted


@pytest.mark.parametrize(("rule", "text"), _listed(CORRECT))
def test_what_burdens_nothing_has_no_finding(tmp_path: Path, rule: str, text: str) -> None:
    found = lint(tmp_path, text.replace("§", ""), OWN[rule])
    assert rule not in {each.rule_id for each in found}


def test_every_rule_of_the_others_has_three_examples_of_both() -> None:
    assert set(PROBLEMATIC) == set(CORRECT) == set(OWN)
    assert [rule for rule in OWN if min(len(PROBLEMATIC[rule]), len(CORRECT[rule])) < 3] == []
