"""Rules for what has no effect in policies, or not the one that its text says."""

from pathlib import Path

import pytest

from chartkit.catalog.policy_lint.rules import RULES
from tests.data import beside
from tests.unit.catalog.policy_lint.linting import HEAD, as_policy, lint

OWN = {rule.id for rule in RULES if rule.id < "CK720"}


def pattern(text: str, kinds: str = "Pod", key: str = "validate: {message: m, pattern: ") -> str:
    """A rule with a pattern, and nothing else."""
    match = f"match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}"
    closed = "".join({"{": "}", "[": "]"}.get(each, "") for each in reversed(key))
    return f"name: r\n{match}\n{key}{text}{closed}\n"


def overlay(text: str, kinds: str = "Pod") -> str:
    return pattern(text, kinds, "mutate: {patchStrategicMerge: ")


def deny(key: str, operator: str = "Equals", value: str = "x", kinds: str = "Pod") -> str:
    """A rule with a condition."""
    condition = f"{{key: {key}, operator: {operator}, value: {value}}}"
    return pattern(condition, kinds, "validate: {message: m, deny: {conditions: {any: [")


def each(key: str, listed: str = "request.object.spec.containers", kinds: str = "Pod") -> str:
    """A rule with a condition about elements."""
    condition = f"{{key: {key}, operator: Equals, value: x}}"
    head = f"validate: {{message: m, foreach: [{{list: '{listed}', deny: {{conditions: {{any: ["
    return pattern(condition, kinds, head)


def test_null_without_quotes_has_the_value_that_it_seems_to_have(tmp_path: Path) -> None:
    rule = deny("\"{{ contains(request.object.metadata.labels.a || null, 'b') }}\"")
    assert not lint(tmp_path, as_policy(rule))


def mutation(expression: str, resources: str = "pods") -> str:
    """A MutatingPolicy with an apply configuration."""
    return f"""\
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {{name: example}}
spec:
  matchConstraints:
    resourceRules:
      - apiGroups: ["", apps, example.com]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [{resources}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration: {{expression: '{expression}'}}
"""


def looped(text: str) -> str:
    """A rule with a pattern for elements."""
    head = "validate: {message: m, foreach: [{list: 'request.object.spec.containers', pattern: "
    return pattern(text, key=head)


FIELD = '"{{ request.object.spec.nodeName }}"'


def conditions(block: str, operator: str, first: str, second: str) -> str:
    """A rule with preconditions about one field, the second of which is wrong."""
    one = f"{{key: {FIELD}, operator: {operator}, value: "
    listed = f"[{one}{first}}}, §{one}{second}}}]"
    return pattern("{spec: {hostPID: false}}") + f"preconditions: {{{block}: {listed}}}\n"


VALIDATING = beside(__file__)["validating"]


def without(key: str, operations: str, resources: str) -> str:
    """A ValidatingPolicy about Pods with excluded resources."""
    rule = f"{{apiGroups: [''], apiVersions: ['*'], operations: [{operations}]"
    excluded = f"    {key}\n      - {rule}, resources: [{resources}]}}\n  validations:"
    return VALIDATING.format("{expression: 'true', message: m}").replace("  validations:", excluded)


def excluding(exclude: str, match: str = "any: [{resources: {kinds: [Pod]}}]") -> str:
    """A rule with a match and an exclude."""
    return (
        f"name: r\nmatch: {{{match}}}\n{exclude}\n"
        "validate: {message: m, pattern: {spec: {hostPID: false}}}\n"
    )


def rules(*others: str, spec: str = "") -> str:
    """A ClusterPolicy with a rule for Pods, and others."""
    first = "    - name: first\n      match: {any: [{resources: {kinds: [Pod]}}]}\n" + ASKS
    return HEAD.replace("  rules:\n", f"{spec}  rules:\n") + first + "".join(others)


ASKS = "      validate: {message: m, pattern: {spec: {=(hostPID): false}}}\n"
OTHER = "    - §name: second\n      match: {any: [{resources: {kinds: [Pod]}}]}\n" + ASKS
NAMED = OTHER.replace("kinds: [Pod]", "kinds: [Pod], names: [a]").replace("§", "")


PROBLEMATIC = {
    "CK701": [
        pattern('{metadata: {labels: {§"(owner": x}}}'),
        pattern('{metadata: {labels: {§"owner)": x}}}'),
        pattern('{spec: {§"?(hostNetwork)": false}}'),
        pattern('{spec: {§"=()": false}}'),
        overlay('{metadata: {labels: {§"+(owner": x}}}'),
    ],
    "CK702": [
        pattern("{spec: {§=(hostNetwrk): false}}"),
        pattern("{spec: {containers: [{§=(securityContex): {privileged: false}}]}}"),
        pattern("{spec: {§template: {spec: {hostPID: false}}}}", "Pod, Service"),
        overlay("{spec: {§automountServiceAccountTokn: false}}"),
        pattern("{spec: {§hostNetwork: false}}", "Deployment"),
        looped("{securityContext: {§privilegd: false}}"),
    ],
    "CK703": [
        deny('"{{ request.object.spec.§hostNetwrk || `false` }}"'),
        deny('"{{ request.object.spec.containers.§image }}"'),
        deny("\"{{ request.oldObject.spec.containers[?§nam=='a'] | [0] }}\""),
        deny('"{{ request.object.spec.[containers, initContainers][].§imag }}"'),
        each('"{{ element.§securityContex.privileged }}"'),
        each("x", "request.object.spec.§contaners"),
    ],
    "CK704": [
        mutation('Object{metadata: Object.metadata{labels: §Object.metadata.lables{a: "b"}}}'),
        mutation("Object{§specs: Object.spec{hostPID: true}}"),
        mutation("Object{spec: Object.spec{hostPID: §1}}"),
        mutation("Object{metadata: Object.metadata{labels: Object.metadata.labels{a: §5}}}"),
        mutation('object.spec.hostPID ? Object{} : Object{spec: §Object.metadata{name: "a"}}'),
        mutation("Object{spec: Object.spec{§replicas: 1}}", "pods, services"),
    ],
    "CK705": [
        pattern("{spec: {§nodeName: yes}}"),
        pattern('{spec: {§hostNetwork: "no"}}'),
        pattern("{spec: {§containers: {image: x}}}"),
        pattern("{spec: {§securityContext: [a]}}"),
        overlay("{spec: {§+(nodeName): 1}}"),
    ],
    "CK706": [
        excluding(
            "§exclude: {any: [{resources: {kinds: [Pod]}}]}",
            "any: [{resources: {kinds: [v1/Pod], operations: [CREATE]}}]",
        ),
        excluding(
            "§exclude: {any: [{resources: {namespaces: ['*']}}]}",
            "any: [{resources: {kinds: [Pod], namespaces: [a]}}]",
        ),
        excluding(
            "§exclude: {any: [{resources: {names: [b]}}, {resources: {namespaces: ['team-*']}}]}",
            "all: [{resources: {kinds: [Pod], namespaces: [team-a, team-b]}}]",
        ),
        excluding("exclude: {any: [§{}]}"),
        without("§excludeResourceRules:", '"*"', "pods, services"),
    ],
    "CK707": [
        rules(
            OTHER.replace("§", "").replace("{message", "{§failureAction: Audit, message"),
            spec="  validationFailureActionOverrides: [{action: Enforce, namespaces: [a]}]\n",
        ),
        rules(OTHER.replace("second", "autogen-second")),
        rules(NAMED).replace("name: first", "§name: first"),
    ],
    "CK708": [
        pattern("{spec: {§initContainers: [{image: 'a/*'}]}}"),
        pattern("{spec: {=(volumes): [{X(hostPath): null}], §ephemeralContainers: [{image: a}]}}"),
        pattern("{spec: {§volumes: [{X(hostPath): null}]}}"),
        pattern("{spec: {template: {spec: {§initContainers: [{tty: false}]}}}}", "Deployment"),
    ],
    "CK709": [
        pattern("{spec: {§priority: '!1-5'}}"),
        pattern("{spec: {§priority: '>five'}}"),
        pattern("{spec: {§activeDeadlineSeconds: '<=3600'}}"),
        pattern("{spec: {containers: [{resources: {limits: {§memory: '<4Gi | 8Gi'}}}]}}"),
    ],
    "CK710": [
        deny("request.object.spec.nodeName").replace("{key", "§{key"),
        deny(FIELD, "AnyIn", "[]").replace("{key", "§{key"),
        conditions("any", "NotEquals", "a", "b"),
        conditions("all", "Equals", "a", "b"),
    ],
    "CK711": [
        pattern("{spec: {hostPID: false}}", key="§validate: {pattern: "),
        pattern("{spec: {hostPID: false}}", key="§validate: {message: ' ', pattern: "),
        deny(FIELD).replace("message: m, ", "").replace("validate", "§validate"),
        VALIDATING.format("§expression: 'true'"),
    ],
}
"""Rules of ClusterPolicies and policies with a mistake behind each `§`."""
CORRECT = {
    "CK701": [
        pattern('{metadata: {labels: {"=(owner)": x, "X(b)": null}}}'),
        pattern('{metadata: {labels: {"{{ f(request.name) }}": x}}}'),
        overlay('{metadata: {labels: {"+(owner)": x}}}'),
    ],
    "CK702": [
        pattern("{spec: {containers: [{=(securityContext): {=(privileged): false}}]}}"),
        pattern("{spec: {template: {spec: {=(hostPID): false}}}}", "Pod, Deployment"),
        pattern("{spec: {anything: x}}", "example.com/v1/Database"),
        pattern("{spec: {anything: x}}", '"*"'),
        looped("{securityContext: {privileged: false}}"),
        looped("{spec: {hostPID: false}}, elementScope: false"),
        pattern('{metadata: {labels: {"a/*": x}, =(annotations): {b: c}}}'),
        overlay('{spec: {containers: [{"(name)": "*", "$patch": delete}]}}'),
    ],
    "CK703": [
        deny('"{{ request.object.spec.hostNetwork || `false` }}"'),
        deny('"{{ request.object.spec.template.spec.hostNetwork }}"', kinds="Pod, Deployment"),
        deny('"{{ request.object.spec.anything }}"', kinds="example.com/v1/Database"),
        deny('"{{ request.object.metadata.labels.anything }}"'),
        deny('"{{ request.object.spec.containers[].env[].valueFrom.secretKeyRef.name }}"'),
        each('"{{ element.resources.limits.\\"nvidia.com/gpu\\" }}"'),
        each('"{{ element.image }}"', "request.object.spec.[containers, initContainers][]"),
    ],
    "CK704": [
        mutation('Object{metadata: Object.metadata{labels: Object.metadata.labels{a: "b"}}}'),
        mutation("Object{spec: Object.spec{replicas: 1}}", "pods, deployments"),
        mutation("Object{spec: Object.spec{anything: 1}}", "databases"),
        mutation(
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, "
            "Object.spec.containers{name: c.name, image: c.image})}}"
        ),
    ],
    "CK705": [
        pattern("{metadata: {labels: {scan: 'yes', tier: 1, other: null, any: '*'}}}"),
        pattern("{spec: {hostNetwork: '!true', =(hostPID): 'false', containers: [{tty: no}]}}"),
        pattern("{spec: {containers: [{resources: {limits: {cpu: 1, memory: '?*'}}}]}}"),
        pattern("{spec: {=(volumes): [{X(hostPath): {}}], X(hostIPC): yes}}"),
        overlay("{metadata: {labels: {+(tier): '1'}}, spec: {hostPID: no}}"),
    ],
    "CK706": [
        excluding("exclude: {any: [{resources: {kinds: [Pod], namespaces: [a]}}]}"),
        excluding("exclude: {any: [{resources: {kinds: [Job]}}]}"),
        excluding("exclude: {any: [{subjects: [{kind: User, name: '*'}]}]}"),
        excluding("exclude: {all: [{resources: {kinds: [Pod]}}, {resources: {names: [a]}}]}"),
        excluding("exclude: {}"),
        without("excludeResourceRules:", "CREATE, UPDATE", "services"),
        without("excludeResourceRules:", "UPDATE", "pods"),
    ],
    "CK707": [
        rules(OTHER.replace("§", "")),
        rules(OTHER.replace("§", "").replace("{message", "{failureAction: Audit, message")),
        rules(NAMED.replace("[Pod]", "[Service]").replace(", names: [a]", "")),
        rules(NAMED).replace("kinds: [Pod]}", "kinds: [Deployment]}"),
    ],
    "CK708": [
        pattern("{spec: {=(initContainers): [{image: 'a/*'}]}}"),
        pattern("{spec: {containers: [{=(tty): false}]}}"),
        pattern("{spec: {tls: [{hosts: ['?*']}]}}", "networking.k8s.io/v1/Ingress"),
        pattern("{spec: {=(volumes): [{X(hostPath): null}]}}"),
        overlay("{spec: {initContainers: [{(name): '*', tty: false}]}}"),
    ],
    "CK709": [
        pattern("{spec: {priority: '1!-5'}}"),
        pattern("{spec: {priority: '>1 & <5', =(activeDeadlineSeconds): '<3600'}}"),
        pattern("{spec: {replicas: '<5'}}", "Deployment"),
        pattern("{spec: {containers: [{image: '!*:latest & !a-b'}]}}"),
        pattern("{spec: {containers: [{resources: {limits: {memory: '>0 & <=4Gi'}}}]}}"),
        pattern("{metadata: {annotations: {a: '>{{request.name}}'}}}"),
    ],
    "CK710": [
        deny("request.object.spec.nodeName", value=FIELD),
        deny(FIELD, "AnyNotIn", "[]"),
        conditions("all", "NotEquals", "a", "b").replace("§", ""),
        conditions("any", "Equals", "a", "b").replace("§", ""),
        conditions("all", "Equals", "a", "a").replace("§", ""),
        conditions("all", "Equals", "a*", "b*").replace("§", ""),
    ],
    "CK711": [
        pattern("{spec: {hostPID: false}}"),
        deny(FIELD, value="x, message: n").replace("message: m, ", ""),
        VALIDATING.format("expression: 'true'\n      message: m"),
        VALIDATING.format("expression: 'true'\n      messageExpression: '\"m\"'"),
        overlay("{spec: {hostPID: false}}"),
    ],
}


def _listed(cases: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(rule, text) for rule, texts in cases.items() for text in texts]


@pytest.mark.parametrize(("rule", "text"), _listed(PROBLEMATIC))
def test_a_mistake_is_named_at_its_place(tmp_path: Path, rule: str, text: str) -> None:
    found = [
        each.location for each in lint(tmp_path, text.replace("§", "")) if each.rule_id == rule
    ]
    wanted = [
        (number, line.index("§") + 1)
        for number, line in enumerate(as_policy(text).splitlines(), 1)
        if "§" in line
    ]
    assert [(at.line, at.column) for at in found if at is not None] == wanted


@pytest.mark.parametrize(("rule", "text"), _listed(CORRECT))
def test_what_is_right_has_no_finding(tmp_path: Path, rule: str, text: str) -> None:
    assert rule not in {each.rule_id for each in lint(tmp_path, text)}


def test_every_rule_has_three_examples_of_both() -> None:
    assert set(PROBLEMATIC) == set(CORRECT) == OWN
    assert [rule for rule in OWN if min(len(PROBLEMATIC[rule]), len(CORRECT[rule])) < 3] == []


WITNESSES = {
    pattern("{spec: {=(hostNetwrk): false}}"): "a Pod with spec.hostNetwork: true passes",
    pattern("{spec: {hostNetwrk: false}}"): "a Pod with spec.hostNetwork: false is refused",
    deny('"{{ request.object.spec.hostNetwrk || `false` }}"', value="true"): (
        "a Pod with spec.hostNetwork: true passes"
    ),
    pattern(
        "{spec: {initContainers: [{=(tty): false}]}}"
    ): "a Pod with no optional field is refused",
    pattern("{spec: {containers: [{resources: {limits: {cpu: '<4'}}}]}}"): (
        'a Pod with spec.containers[].resources.limits: {"memory": "1"} passes'
    ),
}


@pytest.mark.parametrize(("text", "witness"), WITNESSES.items())
def test_the_worst_come_with_an_object(tmp_path: Path, text: str, witness: str) -> None:
    assert f"; {witness}" in lint(tmp_path, text)[0].message


def test_many_findings_of_a_rule_are_cut_with_a_note(tmp_path: Path) -> None:
    fields = ", ".join(f"nothing{number}: x" for number in range(60))
    found = lint(tmp_path, pattern(f"{{spec: {{{fields}}}}}"))
    assert [str(each.severity) for each in found] == [*["warning"] * 50, "note"]
    assert "more findings" in found[-1].message


def test_witnesses_are_searched_for_in_few_rules(tmp_path: Path) -> None:
    one = pattern("{spec: {=(hostNetwrk): false}}").replace("\n", "\n    ").rstrip(" ")
    rules = "".join(f"  - {one}".replace("name: r", f"name: r{number}") for number in range(12))
    found = lint(tmp_path, HEAD + rules)
    assert [" passes" in each.message for each in found] == [*[True] * 10, False, False]
