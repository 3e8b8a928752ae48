"""Policies without metadata.yaml in the chart: what they say stays, what values say goes over."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.errors import InputError, RenderError
from chartkit.helm.render import dry_run, lint_chart, render_chart
from chartkit.kyverno.releases import current
from chartkit.model import Body
from chartkit.project.project import read_project
from tests.data import from_table
from tests.unit.library.upstream_files import (
    ADMISSION,
    CLEANUP,
    CLUSTER_POLICY,
    DELETING,
    GUARDED,
    NAMESPACED,
    RULES,
    VALIDATING,
    vendored,
)

_POLICIES: Mapping[str, str] = {
    "a/own-action": CLUSTER_POLICY,
    "a/rule-actions": RULES,
    "a/in-cel": VALIDATING,
    "a/of-a-namespace": NAMESPACED,
    "a/cleaner": CLEANUP,
    "a/deleter": DELETING,
    "a/of-kubernetes": ADMISSION,
    "a/guarded": GUARDED,
}
_PROJECT = """\
profiles: [./all.yaml]
environments:
  dev: {kyverno: "1.19", kubernetes: "1.35"}
  prd: {kyverno: "1.19", kubernetes: "1.35", action: Audit}
"""


def _project(root: Path, policies: Mapping[str, str], more: str = "") -> ChartPlan:
    vendored(root, "theirs", policies)
    named = "".join(f"    theirs/{reference}: {{}}\n" for reference in policies)
    (root / "all.yaml").write_text(
        "apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata: {name: all}\nspec:\n  title: All\n"
        f"  policies:\n{named}"
    )
    (root / "chartkit.yaml").write_text(_PROJECT + more)
    return plan(read_project(root))


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> ChartPlan:
    return _project(tmp_path_factory.mktemp("project"), _POLICIES)


def _render(chart: ChartPlan, **values: Any) -> dict[str, Body]:
    given = {"kyvernoVersion": "1.19", **values}
    found = render_chart(chart, [given], namespace="ops").resources
    return {
        each.name: each.body for each in found if each.kind != "ValidatingAdmissionPolicyBinding"
    }


def _binding(chart: ChartPlan, **values: Any) -> Body:
    found = render_chart(chart, [{"kyvernoVersion": "1.19", **values}], namespace="ops").resources
    return next(each.body for each in found if each.kind == "ValidatingAdmissionPolicyBinding")


@pytest.fixture(scope="module")
def plain(chart: ChartPlan) -> dict[str, Body]:
    return _render(chart)


def test_each_comes_in_the_form_that_it_is_written_in(plain: dict[str, Body]) -> None:
    assert {name: each["kind"] for name, each in plain.items() if name in _names()} == {
        "own-action": "ClusterPolicy",
        "rule-actions": "ClusterPolicy",
        "in-cel": "ValidatingPolicy",
        "of-a-namespace": "Policy",
        "cleaner": "ClusterCleanupPolicy",
        "deleter": "DeletingPolicy",
        "of-kubernetes": "ValidatingAdmissionPolicy",
        "guarded": "ClusterPolicy",
    }
    assert plain["in-cel"]["apiVersion"] == "policies.kyverno.io/v1"
    assert plain["of-a-namespace"]["metadata"]["namespace"] == "theirs"


def _names() -> set[str]:
    return {reference.rpartition("/")[2] for reference in _POLICIES}


@pytest.mark.parametrize("form", ["ClusterPolicy", "ValidatingAdmissionPolicy"])
def test_whatever_form_is_asked_for(chart: ChartPlan, form: str) -> None:
    found = _render(chart, policyType=form, kyvernoVersion="1.18")
    assert found["in-cel"]["kind"] == "ValidatingPolicy"
    assert found["own-action"]["kind"] == "ClusterPolicy"
    notes = dry_run(chart, [{"policyType": form}], kube_version="v1.35.0").notes
    assert "came in the form that they are written in" in notes
    assert "in-cel (ValidatingPolicy)" in notes


def test_what_it_says_itself_stays(plain: dict[str, Body]) -> None:
    own, rules = plain["own-action"], plain["rule-actions"]
    assert own["spec"]["validationFailureAction"] == "Enforce"
    assert own["spec"]["background"] is False
    assert "failureAction" not in own["spec"]["rules"][0]["validate"]
    message = own["spec"]["rules"][0]["validate"]["message"]
    assert message == "{{ request.object.metadata.name }} has no label"
    assert own["metadata"]["annotations"]["policies.kyverno.io/severity"] == "high"
    assert rules["spec"]["failurePolicy"] == "Ignore"
    assert rules["spec"]["webhookConfiguration"] == {"timeoutSeconds": 7}
    assert rules["metadata"]["annotations"]["kyverno.io/kyverno-version"] == "1.9.0"
    assert rules["metadata"]["annotations"]["pod-policies.kyverno.io/autogen-controllers"] == "none"
    validate = [rule["validate"] for rule in rules["spec"]["rules"]]
    assert [each["failureAction"] for each in validate] == ["Enforce", "Audit"]
    assert validate[0]["failureActionOverrides"] == [{"action": "Audit", "namespaces": ["old"]}]
    assert plain["in-cel"]["spec"]["validationActions"] == ["Deny", "Audit"]
    assert (
        plain["in-cel"]["spec"]["validations"][0]["expression"] == "object.spec.hostNetwork != true"
    )


@pytest.mark.parametrize(
    "values",
    [
        {"keepOwnActions": False, "validationFailureAction": "Audit"},
        {
            "policies": {
                name: {"action": "Audit"} for name in ("own-action", "rule-actions", "in-cel")
            }
        },
        {
            "validationFailureActionByPolicy": dict.fromkeys(
                ("own-action", "rule-actions", "in-cel"), "Audit"
            )
        },
    ],
)
def test_an_action_of_values_takes_the_place_of_all(chart: ChartPlan, values: Body) -> None:
    found = _render(chart, **values)
    for name in ("own-action", "rule-actions"):
        spec = found[name]["spec"]
        assert spec["validationFailureAction"] == "Audit"
        for rule in spec["rules"]:
            assert rule["validate"]["failureAction"] == "Audit"
            assert "failureActionOverrides" not in rule["validate"]
    assert found["in-cel"]["spec"]["validationActions"] == ["Audit"]


def test_an_environment_s_action_leaves_them_their_own(chart: ChartPlan) -> None:
    for name in ("dev", "prd"):
        values = yaml.safe_load(chart.values[f"values_{name}.yaml"])
        assert "keepOwnActions" not in values
        assert (
            _render(chart, **values)["own-action"]["spec"]["validationFailureAction"] == "Enforce"
        )
    plain = _render(chart, validationFailureAction="Audit")
    assert plain["rule-actions"]["spec"]["rules"][0]["validate"]["failureAction"] == "Enforce"


def test_actions_in_namespaces_go_before_its_own(chart: ChartPlan) -> None:
    here = [{"action": "Audit", "namespaces": ["new"]}]
    off = {"of-kubernetes": {"enabled": False}}
    found = _render(chart, validationFailureActionOverrides={"all": here}, policies=off)
    validate = [rule["validate"] for rule in found["rule-actions"]["spec"]["rules"]]
    assert validate[0]["failureActionOverrides"] == [
        *here,
        {"action": "Audit", "namespaces": ["old"]},
    ]
    assert validate[0]["failureAction"] == "Enforce"
    own = found["own-action"]["spec"]["rules"][0]["validate"]
    assert (own["failureAction"], own["failureActionOverrides"]) == ("Enforce", here)
    conditions = found["in-cel"]["spec"]["matchConditions"]
    assert conditions[-1]["name"] == "action"
    assert found["in-cel"]["spec"]["validationActions"] == ["Deny", "Audit"]
    assert found["in-cel-audit"]["spec"]["validationActions"] == ["Audit"]


def test_exclusions_preconditions_and_settings(chart: ChartPlan) -> None:
    filters = {"any": [{"resources": {"namespaces": ["kube-system"]}}]}
    condition = [{"key": "{{ request.operation }}", "operator": "Equals", "value": "CREATE"}]
    found = _render(
        chart,
        exclude=filters,
        policyExclude={"cleaner": {"any": [{"resources": {"names": ["a"]}}]}},
        policies={
            "own-action": {"failurePolicy": "Ignore", "severity": "low", "labels": {"team": "a"}},
            "rule-actions": {"preconditions": {"all": condition}, "failurePolicy": "Fail"},
            "cleaner": {"preconditions": {"all": condition}},
            "in-cel": {"matchConditions": [{"name": "x", "expression": "true"}]},
            "deleter": {"enabled": False},
        },
        customAnnotations={"a/b": "c"},
    )
    assert found["own-action"]["spec"]["rules"][0]["exclude"] == filters
    assert found["own-action"]["spec"]["failurePolicy"] == "Ignore"
    metadata = found["own-action"]["metadata"]
    assert metadata["annotations"]["policies.kyverno.io/severity"] == "low"
    assert metadata["annotations"]["a/b"] == "c"
    assert metadata["labels"]["team"] == "a"
    rules = found["rule-actions"]["spec"]
    assert rules["rules"][0]["preconditions"] == {"all": condition}
    assert rules["failurePolicy"] == "Fail"
    cleaner = found["cleaner"]["spec"]
    assert [each["resources"] for each in cleaner["exclude"]["any"]] == [
        {"kinds": ["Secret"]},
        {"namespaces": ["kube-system"]},
        {"names": ["a"]},
    ]
    assert cleaner["conditions"]["all"][-1] == condition[0]
    names = [each["name"] for each in found["in-cel"]["spec"]["matchConditions"]]
    assert names == ["own", "exclude", "x"]
    names = [each["name"] for each in found["of-kubernetes"]["spec"]["matchConditions"]]
    assert names == ["exclude"]


def test_an_admission_policy_brings_its_bindings(chart: ChartPlan) -> None:
    assert _binding(chart)["spec"] == {
        "policyName": "of-kubernetes",
        "validationActions": ["Warn"],
        "matchResources": {"objectSelector": {"matchLabels": {"a": "{{ b }}"}}},
    }
    spec = _binding(chart, policies={"of-kubernetes": {"action": "Enforce"}}, policyKind="Policy")[
        "spec"
    ]
    assert spec["validationActions"] == ["Deny"]
    assert spec["matchResources"]["namespaceSelector"]["matchLabels"] == {
        "kubernetes.io/metadata.name": "ops"
    }
    assert spec["matchResources"]["objectSelector"]["matchLabels"] == {"a": "{{ b }}"}


def test_policies_of_a_namespace(chart: ChartPlan) -> None:
    found = _render(chart, policyKind="Policy", policies={"deleter": {"enabled": False}})
    kinds = {name: each["kind"] for name, each in found.items() if name in _names()}
    assert kinds["own-action"] == "Policy"
    assert kinds["in-cel"] == "NamespacedValidatingPolicy"
    assert kinds["cleaner"] == "CleanupPolicy"
    assert found["own-action"]["metadata"]["namespace"] == "ops"
    assert found["of-a-namespace"]["metadata"]["namespace"] == "theirs"


def test_code_of_its_own_sees_values_and_its_guard_is_open(chart: ChartPlan) -> None:
    found = _render(chart)["guarded"]
    assert (
        found["metadata"]["labels"]["helm.sh/chart"]
        == f"kyverno-policies-{current().chart_version}"
    )
    assert found["spec"]["rules"][0]["validate"]["message"] == "as Audit: {{ request.operation }}"
    assert found["spec"]["webhookTimeoutSeconds"] == 5
    values = {"timeout": 9, "strict": True}
    found = _render(chart, policies={"guarded": {"values": values}})["guarded"]
    assert found["spec"]["webhookTimeoutSeconds"] == 9
    assert [rule["name"] for rule in found["spec"]["rules"]] == ["check", "strict"]
    assert '"kyverno-policies.customPolicies" -}}true' in chart.files["templates/_guards.tpl"]


def test_code_of_its_own_changes_no_other_policy(tmp_path: Path) -> None:
    hostile = GUARDED.replace(
        "{{{{- $name",
        '{{{{- $other := merge .Values.policies (dict "a-quiet-one" (dict "action" "Audit")) }}}}\n'
        "{{{{- $name",
    )
    chart = _project(tmp_path, {"a/a-quiet-one": CLUSTER_POLICY, "a/0-hostile": hostile})
    found = _render(chart, policies={"a-quiet-one": {}})
    assert found["a-quiet-one"]["spec"]["validationFailureAction"] == "Enforce"


@from_table("old", "new")
def test_code_of_its_own_makes_no_other_object(tmp_path: Path, old: str, new: str) -> None:
    text = GUARDED.replace(old, new.replace("@", old))
    values = {"policies": {"hostile": {"values": {"kind": "ClusterRole"}}}}
    with pytest.raises((RenderError, InputError)) as caught:
        _render(_project(tmp_path, {"a/hostile": text}), **values)
    assert re.search(
        "makes something else of it|there is no policy|cannot be the", str(caught.value)
    )


def test_jinja_and_odd_braces_are_text(tmp_path: Path) -> None:
    texts = ["<%= 7 * 7 %>", "<% for x in y %>", "<%# a %>", "{{ x <%= y %> }}", "{{", "}}", "`{{`"]
    notes = "".join(f"    a/{at}: '{text}'\n" for at, text in enumerate(texts)).replace("{", "{{")
    odd = CLUSTER_POLICY.replace("  annotations:\n", "  annotations:\n" + notes.replace("}", "}}"))
    found = _render(_project(tmp_path, {"a/odd": odd}))["odd"]["metadata"]["annotations"]
    assert [found[f"a/{at}"] for at in range(len(texts))] == texts


def test_the_last_line_of_a_text_stays(tmp_path: Path) -> None:
    # Kyverno says the message with the white space that its block scalar ends with.
    last = CLUSTER_POLICY.split("      validate:")[0] + (
        "      validate:\n        deny: {{}}\n        message: |+\n          no  \n\n"
    )
    found = _render(_project(tmp_path, {"a/last": last}))["last"]
    assert found["spec"]["rules"][0]["validate"]["message"] == "no  \n\n"


def test_helm_lints_it(chart: ChartPlan) -> None:
    assert [each for each in lint_chart(chart) if each.severity != "note"] == []


@from_table("values", "message")
def test_what_a_form_cannot_hold(chart: ChartPlan, values: Body, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        _render(chart, **values)


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (
            {"a/x": GUARDED.replace("kyverno-policies.customPolicies", "kyverno-policies.call")},
            "it asks 'kyverno-policies.call', a template of the chart's own",
        ),
        ({"a/x": CLUSTER_POLICY.replace("{name}", "Not_A_Name")}, "cannot be the name of a policy"),
        (
            {"a/x": GUARDED.replace("name: {{{{ $name }}}}", "name: {{{{ .Values.name }}}}")},
            "cannot be the name of a policy",
        ),
        ({"a/x": GUARDED.replace("{{{{- end }}}}\n", "") + "{{{{- end }}}}"}, "has no end"),
        (
            {"a/x": CLUSTER_POLICY.replace("- name: check", "- title: check")},
            "or one without a name",
        ),
        ({"a/x": GUARDED + "---\n" + CLUSTER_POLICY}, "there is no policy"),
        ({"a/x": CLUSTER_POLICY, "b/x": CLUSTER_POLICY}, "two policies 'x' in the chart"),
    ],
)
def test_what_the_chart_cannot_take(
    tmp_path: Path, policies: Mapping[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _project(tmp_path, policies)
    assert caught.value.location is not None


def test_upstream_policies_a_policy_of_a_standard_s_name_stands_in_its_place(
    tmp_path: Path,
) -> None:
    chart = _project(tmp_path, {"pod/disallow-host-path": CLUSTER_POLICY})
    assert "templates/theirs/disallow-host-path.yaml" in chart.files
    assert "templates/baseline/disallow-host-path.yaml" not in chart.files
    off = {"policies": {"disallow-host-path": {"enabled": None}}}
    assert "disallow-host-path" not in _render(chart, podSecurityStandard="privileged", **off)
    found = _render(chart, podSecurityStandard="baseline", **off)
    assert found["disallow-host-path"]["spec"]["validationFailureAction"] == "Enforce"
    assert "disallow-privileged-containers" in found
