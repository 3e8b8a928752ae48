"""Exceptions in templates get both forms next to those of the policies that they name."""

from pathlib import Path

import pytest

from tests.addons.migrate.charts.small import (
    HOST_PID,
    VALUES,
    migrated,
    new_policies,
    policy,
    rule,
    write_chart,
)

_EXCEPTION = (
    "{{- range .Values.excepted }}\n---\napiVersion: kyverno.io/v2\nkind: PolicyException\n"
    "metadata:\n  name: {{ .name }}\n  namespace: kyverno\nspec:\n  exceptions:\n"
    "  - policyName: p\n    ruleNames: [r]\n  match:\n    any:\n    - resources:\n"
    "        kinds: [Pod]\n        namespaces: {{ toJson .namespaces }}\n{{- end }}\n"
)
_VALUES = f"{VALUES}excepted: [{{name: e, namespaces: [a]}}]\nipc: true\n"
_SECOND = rule(HOST_PID.replace("PID", "IPC")).replace("name: r", "name: s")


def test_an_exception_from_values_names_the_new_policies(tmp_path: Path) -> None:
    """Of a policy that is divided by the exception, it names one."""
    template = policy(rule(HOST_PID) + _SECOND, name="p")
    chart = write_chart(tmp_path / "c", {"e.yaml": _EXCEPTION, "p.yaml": template}, _VALUES)
    assert migrated(chart).left == []
    excepted = [{"name": "x", "namespaces": ["a", "b"]}, {"name": "z", "namespaces": ["c"]}]
    *exceptions, one, two = new_policies(chart, excepted=excepted)
    assert [body["metadata"]["name"] for body in (one, two)] == ["p-r", "p-s"]
    assert [body["metadata"] for body in exceptions] == [
        {"name": name, "namespace": "kyverno"} for name in ("x", "z")
    ]
    for body, namespaces in zip(exceptions, ('["a","b"]', '"c"'), strict=True):
        assert body["apiVersion"] == "policies.kyverno.io/v1"
        assert body["spec"]["policyRefs"] == [{"kind": "ValidatingPolicy", "name": "p-r"}]
        assert namespaces in body["spec"]["matchConditions"][0]["expression"]
    assert len(new_policies(chart, policyType="both")) == 5
    assert [body["kind"] for body in new_policies(chart, policyType="ClusterPolicy")] == [
        "PolicyException",
        "ClusterPolicy",
    ]


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (policy(rule(HOST_PID), name="other"), "policy p is not among the inputs"),
        (
            policy(rule(HOST_PID), name="p").replace("[Pod]", "{{ .Values.kinds }}"),
            "the new form of p has another name",
        ),
        (
            policy(
                "  {{- if .Values.pid }}\n" + rule(HOST_PID) + "  {{- end }}\n"
                "  {{- if .Values.ipc }}\n"
                + _SECOND.replace("[Pod]", "[Service]")
                + "  {{- end }}\n",
                name="p",
            ),
            "",
        ),
    ],
)
def test_an_exception_from_a_policy_that_stays_or_is_divided_stays(
    tmp_path: Path, template: str, reason: str
) -> None:
    values = _VALUES + "pid: true\nkinds: [Pod]\n"
    chart = write_chart(tmp_path / "c", {"e.yaml": _EXCEPTION, "p.yaml": template}, values)
    reasons = {Path(place.file).name: text for place, text in migrated(chart).left}
    assert reasons["e.yaml"].startswith(reason)
    assert (chart / "templates/e.yaml").read_text() == _EXCEPTION
