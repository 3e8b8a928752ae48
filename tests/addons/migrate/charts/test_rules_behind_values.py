"""Rules and operators that values choose."""

from itertools import product
from pathlib import Path

import pytest

from chartkit.addons.migrate.charts.normal import normal
from chartkit.addons.migrate.convert import convert
from chartkit.errors import RenderError
from chartkit.model import Resource
from tests.addons.migrate.charts.small import (
    HOST_PID,
    VALUES,
    migrated,
    new_policies,
    policy,
    rule,
    write_chart,
)


def test_where_decisions_together_divide_a_policy_each_rule_has_its_own(tmp_path: Path) -> None:
    first = "    {{- with .Values.omit }}\n    exclude:\n      any:\n      - resources:\n"
    first += "          namespaces: {{ toJson . }}\n    {{- end }}\n"
    second = rule("      pattern:\n        spec:\n          =(hostIPC): false\n")
    rules = f"{rule(HOST_PID, first)}  {{{{- if .Values.ipc }}}}\n"
    rules += f"{second.replace('name: r', 'name: s')}  {{{{- end }}}}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, f"{VALUES}omit: []\n")
    assert migrated(chart).left == []
    for ipc, names in ((False, ["release-p-r"]), (True, ["release-p-r", "release-p-s"])):
        new = new_policies(chart, omit=["a"], ipc=ipc)
        assert [body["metadata"]["name"] for body in new] == names
        assert [len(body["spec"].get("matchConditions", ())) for body in new] == [1, 0][: len(new)]


def test_a_policy_of_rules_behind_values_is_there_with_some_of_them(tmp_path: Path) -> None:
    names = "hostPID", "hostIPC", "hostNetwork"
    rules = "".join(
        f"  {{{{- if .Values.{name} }}}}\n"
        + rule(HOST_PID.replace("hostPID", name)).replace("name: r", f"name: r-{name.lower()}")
        + "  {{- end }}\n"
        for name in names
    ).replace("not allowed", "no {{ .Release.Name }}")
    values = VALUES + "".join(f"{name}: true\n" for name in names)
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, values)
    assert migrated(chart).left == []
    text = (chart / "templates/p.yaml").read_text()
    assert text.count("kind: ValidatingPolicy") == 1
    assert "{{- if or .Values.hostPID .Values.hostIPC .Values.hostNetwork }}" in text
    for chosen in product((True, False), repeat=3):
        new = new_policies(chart, **dict(zip(names, chosen, strict=True)))
        fields = [name for name, is_set in zip(names, chosen, strict=True) if is_set]
        expressions = [rule["expression"] for body in new for rule in body["spec"]["validations"]]
        assert expressions == [f"!object.spec.?{name}.orValue(false)" for name in fields]


def test_operators_come_from_values(tmp_path: Path) -> None:
    deny = (
        "      deny:\n        conditions:\n          any:\n          - key: '{{ `{{ "
        "request.object.spec.nodeName }}` }}'\n            operator: {{ .Values.operator }}\n"
        "            value: {{ .Values.allow | toJson }}\n"
        "          - key: '{{ `{{ request.object.spec.hostname }}` }}'\n"
        '            operator: {{ ternary "Equals" "NotEquals" .Values.same }}\n'
        "            value: a\n"
    )
    values = f"{VALUES}operator: AnyNotIn\nsame: true\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(deny))}, values)
    assert migrated(chart).left == []
    for operator, same in product(("AnyIn", "AnyNotIn"), (True, False)):
        old, new = new_policies(chart, policyType="both", operator=operator, same=same)
        (wanted,) = convert(Resource(old)).documents
        expressions = [
            normal(body["spec"]["validations"][0]["expression"]) for body in (wanted, new)
        ]
        assert expressions[0] == expressions[1]
    with pytest.raises(RenderError, match="operator is neither AnyIn nor AnyNotIn"):
        new_policies(chart, operator="AllIn")


def test_rules_for_the_keys_of_a_map_have_their_names(tmp_path: Path) -> None:
    match = "- resources:\n          kinds: [Pod]\n          namespaces: [{{ $name }}]"
    rules = (
        "  {{- range $name, $of := .Values.of }}\n"
        + rule(HOST_PID)
        .replace("name: r", "name: r-{{ $name }}")
        .replace("- resources:\n          kinds: [Pod]", match)
        + "  {{- end }}\n"
    )
    values = f"{VALUES}of: {{a: {{}}, b: {{}}}}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules, name="p")}, values)
    assert migrated(chart).left == []
    assert [new["metadata"]["name"] for new in new_policies(chart)] == ["p-r-a", "p-r-b"]
    with pytest.raises(RenderError, match="of has what no name of an object has"):
        new_policies(chart, of={"C": {}})


def test_kinds_of_the_items_of_a_map_are_read_from_its_values(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID), name="{{ $name }}").replace(
        "{{- if .Values.enabled }}", "{{- range $name, $of := .Values.of }}\n---"
    )
    text = text.replace("[Pod]", "{{ toJson $of.kinds }}").replace(".Values", "$.Values")
    text = text.replace("$.Values.of }}", ".Values.of }}")
    values = f"{VALUES}of: {{a: {{kinds: [Pod]}}, b: {{kinds: [Pod]}}}}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, values)
    assert migrated(chart).left == []
    assert [new["metadata"]["name"] for new in new_policies(chart)] == ["a", "b"]
