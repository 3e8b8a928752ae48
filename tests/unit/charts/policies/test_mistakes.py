"""What the policies chart of a project refuses, and how it says so."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.bundled import chart_source_dir
from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan, plan_for_profile, read_libraries, render_profile
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.helm.render import render_chart
from chartkit.library.rendered import read_templates
from tests.data import from_table
from tests.unit.charts.policies.own_policy import DEV, PATTERN, RULE, mine, own_project
from tests.unit.project.project_files import POLICY, write_policy, write_profile, write_project


@from_table("lines", "message")
def test_mistakes_in_the_project(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        plan(own_project(tmp_path, lines=lines, minimum="1.10"))
    assert re.search(message, str(raised.value))


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    write_policy(tmp_path / "library", "other/mine")
    project = own_project(tmp_path, lines="    policies: {other/mine: {enabled: true}}\n")
    with pytest.raises(InputError, match="two policies 'mine' in the chart") as caught:
        plan(project)
    assert str(caught.value.location).startswith(f"{tmp_path}/chartkit.yaml:7:")
    assert f"the other is library/own/mine, {tmp_path}/own.yaml:7:" in (caught.value.hint or "")


def test_two_policies_of_one_name_in_two_environments_are_refused(tmp_path: Path) -> None:
    write_policy(tmp_path / "library", "other/mine")
    write_profile(tmp_path / "other.yaml", "policies: {other/mine: {}}")
    prd = '  prd: {kyverno: "1.19", kubernetes: "1.34", profiles: [other.yaml]}\n'
    with pytest.raises(InputError, match="two policies 'mine' in the chart"):
        plan(own_project(tmp_path, lines=prd))


def test_mistakes_a_policy_of_a_standard_s_name_stands_in_its_place(tmp_path: Path) -> None:
    write_policy(tmp_path / "library", "own/disallow-host-path")
    also = "    policies: {own/disallow-host-path: {enabled: true}}\n"
    files = plan(own_project(tmp_path, lines=also)).files
    assert "templates/own/disallow-host-path.yaml" in files
    assert "templates/baseline/disallow-host-path.yaml" not in files
    both = "    profiles: [own.yaml, pss-baseline]\n" + also
    with pytest.raises(InputError, match="two policies 'disallow-host-path' in the chart"):
        plan(write_project(tmp_path, DEV + both))


def test_a_custom_policy_of_a_chart_s_name_is_refused(tmp_path: Path) -> None:
    chart = plan(own_project(tmp_path))
    own = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "mine"}}
    with pytest.raises(RenderError, match="two policies 'mine'"):
        mine(chart, customPolicies=[own])
    off = {"customPolicies": [own], "policies": {"mine": {"enabled": False}}}
    assert mine(chart, **off) == own


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            RULE.replace("{kinds: [Pod]}", "{kinds: [Pod], operations: [CREATE]}") + PATTERN,
            'claims Kyverno 1.6, but spec.*operations came with 1.10 .*minimumKyverno: "1.10"',
        ),
        (POLICY.replace("{name}", "yours", 1), "policy 'mine' calls itself 'yours'"),
        (POLICY.replace("ClusterPolicy", "Pod"), "policy 'mine' is not a ClusterPolicy"),
        (POLICY.partition("  rules")[0] + "  rules: []\n  x: [", "mine"),
        (POLICY.replace("- name: check-{name}\n      match", "- match"), "one without a name"),
        (POLICY + "<%= parameter('gone') %>\n", "no parameter 'gone'"),
        (POLICY + "<% if %>\n", "template"),
    ],
)
def test_mistakes_in_a_policy(tmp_path: Path, policy: str, message: str) -> None:
    project = own_project(tmp_path, policy)
    with pytest.raises(ChartkitError) as raised:
        plan(project)
    assert re.search(message, str(raised.value))
    assert "mine" in str(raised.value.location)


@pytest.mark.parametrize("name", ["Mine", "a}}{{ fail 1 }}", "a b", "-a"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    project = own_project(tmp_path)
    write_policy(tmp_path / "library", f"own/{name}")
    write_profile(tmp_path / "own.yaml", "policies: {own/mine: {}}")
    library = read_libraries(project)
    with pytest.raises(InputError, match="cannot be the name of a policy"):
        read_templates([library.find(name)])


@from_table("image", "version")
def test_autodetect_reads_the_image(image: str, version: str) -> None:
    templates = chart_source_dir("kyverno-policies") / "chart" / "templates"
    call = f'{{{{ include "kyverno-policies.imageVersion" "{image}" | quote }}}}'
    files = {
        "Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.0.0\n",
        "templates/_version.tpl": (templates / "_version.tpl").read_text(),
        "templates/a.yaml": f"apiVersion: v1\nkind: A\nv: {call}\n",
    }
    rendered = render_chart(ChartPlan("a", files, {"values.yaml": "{}\n"}))
    assert rendered.resources[0].body["v"] == version


@pytest.mark.parametrize(
    ("action", "message"), [("Force", "did you mean Enforce"), ("Block", "it is Audit or Enforce")]
)
def test_actions_are_refused_without_the_schema_too(
    tmp_path: Path, action: str, message: str
) -> None:
    chart = plan(own_project(tmp_path))
    files = {name: text for name, text in chart.files.items() if name != "values.schema.json"}
    with pytest.raises(RenderError, match=message):
        mine(replace(chart, files=files), validationFailureAction=action)


def test_a_profile_without_a_project() -> None:
    names = {each.name for each in render_profile("pss-baseline", {})}
    assert "disallow-host-path" in names
    assert "restrict-volume-types" not in names
    older = {each.name for each in render_profile("pss-baseline", {"podSecurityVersion": "v1.24"})}
    assert names - older == {"disallow-host-probes"}
    for wrong in ({"podSecurityversion": "v1.24"}, {"podSecurityVersion": "1.24"}):
        with pytest.raises(InputError):
            plan_for_profile("pss-baseline", wrong)
