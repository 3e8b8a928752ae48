"""The policies chart of a project: what it carries, and what each environment gets."""

import json
import re
from pathlib import Path

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.documents.reader import parse_yaml
from chartkit.errors import RenderError
from chartkit.helm.render import dry_run, render_chart
from chartkit.kyverno.matrix import CLUSTERS_ANNOTATION
from chartkit.kyverno.releases import current
from chartkit.model import Body
from tests.data import from_table
from tests.unit.charts.policies.own_policy import mine, own_project
from tests.unit.project.project_files import write_policy


def _values(chart: ChartPlan, name: str = "dev") -> Body:
    values: Body = parse_yaml(chart.values[f"values_{name}.yaml"])
    return values


def test_the_chart_carries_named_policies_and_the_whole_standards(tmp_path: Path) -> None:
    write_policy(tmp_path / "library", "own/unused")
    chart = plan(own_project(tmp_path))
    names = json.loads(chart.files["data/policies.json"])
    assert "mine" in names
    assert "unused" not in names
    assert {"disallow-host-path", "restrict-volume-types", "require-non-root-groups"} <= set(names)
    assert "templates/own/mine.yaml" in chart.files
    installed = {each.name for each in render_chart(chart).resources}
    assert installed == {"mine"}
    both = {
        each.name for each in render_chart(chart, [{"podSecurityStandard": "baseline"}]).resources
    }
    assert {"mine", "disallow-host-path"} <= both


def test_chart_yaml_admits_the_clusters_of_every_environment(tmp_path: Path) -> None:
    lines = '  old: {kyverno: "1.10", kubernetes: "1.25"}\n'
    chart = plan(own_project(tmp_path, lines=lines))
    about = parse_yaml(chart.files["Chart.yaml"])
    assert about["kubeVersion"] == ">=1.24-0"
    assert about["annotations"][CLUSTERS_ANNOTATION] == ">=1.24-0 <1.36-0"
    assert "own" in about["description"]
    assert dry_run(chart, kube_version="v1.34.1-eks-113cf36").notes
    live = ["apiregistration.k8s.io/v1"]
    for outside in ("v1.23.0", "v1.36.0"):
        with pytest.raises(RenderError):
            dry_run(chart, kube_version=outside, api_versions=live)
    assert dry_run(chart, kube_version="v1.36.0").notes
    allowed = {"global": {"allowUnsupportedKubernetes": True}}
    notes = dry_run(chart, [allowed], kube_version="v1.36.0", api_versions=live).notes
    assert "Kubernetes v1.36.0 is not supported by any Kyverno" in notes


def test_values_of_an_environment_hold_what_differs(tmp_path: Path) -> None:
    lines = '  qa: {kyverno: "1.19", kubernetes: "1.34"}\n  prd: {kyverno: "1.19", eks: "1.34"}\n'
    chart = plan(own_project(tmp_path, lines=lines))
    assert set(chart.values) == {"values.yaml", *(f"values_{n}.yaml" for n in ("dev", "qa", "prd"))}
    assert parse_yaml(chart.values["values.yaml"])["validationFailureAction"] == "Audit"
    assert _values(chart) == {"kyvernoVersion": "1.19", "validationFailureAction": "Enforce"}
    assert _values(chart, "prd") == {"kyvernoVersion": "1.19"}


def test_an_environment_with_other_profiles(tmp_path: Path) -> None:
    lines = '  old: {kyverno: "1.19", kubernetes: "1.34", profiles: [pss-baseline]}\n'
    chart = plan(own_project(tmp_path, lines=lines))
    rendered = render_chart(chart, [_values(chart, "old")])
    names = {each.name for each in rendered.resources}
    assert "disallow-host-path" in names
    assert "mine" not in names
    assert "restrict-volume-types" not in names
    notes = dry_run(chart, [_values(chart, "old")], kube_version="v1.34.0").notes
    assert "Profile: pss-baseline" in notes
    assert "Pod Security Standard: baseline" in notes


def test_notes_name_policies_by_their_action(tmp_path: Path) -> None:
    chart = plan(own_project(tmp_path))
    notes = dry_run(chart, [{"validationFailureAction": "Enforce"}], kube_version="v1.34.0").notes
    assert "Mode: Enforce" in notes
    assert re.search(r"refused \(1\):\n  mine\n", notes)
    assert re.search(r"reported \(0\):\n  none\n", notes)
    assert f"Kyverno: {current().app_version[1:]} (assumed" in notes


@from_table("version", "spec", "rule", "validate")
def test_a_version_gets_the_fields_that_it_has(
    tmp_path: Path, version: str, spec: Body, rule: set[str], validate: set[str]
) -> None:
    body = mine(plan(own_project(tmp_path)), kyvernoVersion=version)["spec"]
    written = {"background": True, "failurePolicy": "Fail", "validationFailureAction": "Audit"}
    rules = body.pop("rules")
    assert body == written | spec
    assert set(rules[0]) == {"name", "match", "validate"} | rule
    assert set(rules[0]["validate"]) == {"message", "pattern"} | validate


def test_overrides_stand_where_the_version_reads_them(tmp_path: Path) -> None:
    chart = plan(own_project(tmp_path))
    given = {"all": [{"action": "Enforce", "namespaces": ["a"]}]}
    old = mine(chart, kyvernoVersion="1.8", validationFailureActionOverrides=given)["spec"]
    assert old["validationFailureActionOverrides"] == [{"action": "enforce", "namespaces": ["a"]}]
    middle = mine(chart, kyvernoVersion="1.12", validationFailureActionOverrides=given)["spec"]
    assert middle["validationFailureActionOverrides"] == given["all"]
    new = mine(chart, validationFailureActionOverrides=given)["spec"]
    assert "validationFailureActionOverrides" not in new
    assert new["rules"][0]["validate"]["failureActionOverrides"] == given["all"]


_RESOURCES = {"kinds": ["Pod"], "operations": ["CREATE"]}


@from_table("values", "message")
def test_what_a_version_would_drop_is_refused(tmp_path: Path, values: Body, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        mine(plan(own_project(tmp_path)), **values)


def test_a_policy_too_new_for_the_given_version_is_refused(tmp_path: Path) -> None:
    chart = plan(own_project(tmp_path, minimum="1.12"))
    with pytest.raises(RenderError, match=r"policy mine needs Kyverno 1.12, and this is 1.11.2"):
        mine(chart, kyvernoVersion="1.11.2")
