"""Rules for what has no effect in policies, or not the one that its text says."""

from __future__ import annotations

from pathlib import Path

import pytest

from chartkit.catalog.policy_lint.rules import RULES
from tests.unit.catalog.policy_lint.linting import as_policy, lint

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
    ],
    "CK703": [
        deny('"{{ request.object.spec.§hostNetwrk || `false` }}"'),
        deny('"{{ request.object.spec.containers.§image }}"'),
        deny("\"{{ request.oldObject.spec.containers[?§nam=='a'] | [0] }}\""),
        deny('"{{ request.object.spec.[containers, initContainers][].§imag }}"'),
        each('"{{ element.§securityContex.privileged }}"'),
        each("x", "request.object.spec.§contaners"),
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
}


@pytest.mark.parametrize(("text", "witness"), WITNESSES.items())
def test_the_worst_come_with_an_object(tmp_path: Path, text: str, witness: str) -> None:
    assert f"; {witness}" in lint(tmp_path, text)[0].message
