"""The policies chart of a project: what it carries, what each environment gets, what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.bundled import chart_source_dir
from chartkit.chart.bodies import read_templates
from chartkit.chart.plan import ChartPlan
from chartkit.chart.policies_chart import (
    plan,
    plan_for_profile,
    read_libraries,
    render_profile,
)
from chartkit.chart.render import dry_run, render_chart
from chartkit.documents import parse_yaml
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.model import Body
from tests.unit.chart.project_files import POLICY, write_policy, write_profile, write_project

_DEV = """\
profiles: [own.yaml]
library: [library]
environments:
  dev:
    kyverno: "1.19"
    kubernetes: "1.34"
"""
_RULE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
spec:
  rules:
    - name: rule
      match:
        any:
          - resources: {kinds: [Pod]}
"""
_PATTERN = "      validate: {message: no, pattern: {metadata: {}}}\n"


def _project(tmp_path: Path, policy: str = POLICY, lines: str = "", minimum: str = "1.6") -> Any:
    write_policy(tmp_path / "library", "own/mine", policy, minimum)
    write_profile(tmp_path / "own.yaml", "policies: {own/mine: {}}")
    return write_project(tmp_path, _DEV + lines)


def _mine(chart: ChartPlan, **values: Any) -> Body:
    rendered = render_chart(chart, [{"kyvernoVersion": "1.19", **values}], namespace="kyverno")
    return next(each.body for each in rendered.resources if each.name == "mine")


def _rule(chart: ChartPlan, **values: Any) -> Body:
    rule: Body = _mine(chart, **values)["spec"]["rules"][0]
    return rule


def _values(chart: ChartPlan, name: str = "dev") -> Body:
    values: Body = parse_yaml(chart.values[f"values_{name}.yaml"])
    return values


def test_the_chart_carries_named_policies_and_the_whole_standards(tmp_path: Path) -> None:
    write_policy(tmp_path / "library", "own/unused")
    chart = plan(_project(tmp_path))
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
    chart = plan(_project(tmp_path, lines=lines))
    about = parse_yaml(chart.files["Chart.yaml"])
    assert about["kubeVersion"] == ">=1.24-0 <1.36-0"
    assert "own" in about["description"]
    assert dry_run(chart, kube_version="v1.34.1-eks-113cf36").notes
    for outside in ("v1.23.0", "v1.36.0"):
        with pytest.raises(RenderError):
            dry_run(chart, kube_version=outside)


def test_values_of_an_environment_hold_what_differs(tmp_path: Path) -> None:
    lines = '  qa: {kyverno: "1.19", kubernetes: "1.34"}\n  prd: {kyverno: "1.19", eks: "1.34"}\n'
    chart = plan(_project(tmp_path, lines=lines))
    assert set(chart.values) == {"values.yaml", *(f"values_{n}.yaml" for n in ("dev", "qa", "prd"))}
    assert parse_yaml(chart.values["values.yaml"])["validationFailureAction"] == "Audit"
    assert _values(chart) == {"kyvernoVersion": "1.19", "validationFailureAction": "Enforce"}
    assert _values(chart, "prd") == {"kyvernoVersion": "1.19"}


def test_an_environment_with_other_profiles(tmp_path: Path) -> None:
    lines = '  old: {kyverno: "1.19", kubernetes: "1.34", profiles: [pss-baseline]}\n'
    chart = plan(_project(tmp_path, lines=lines))
    rendered = render_chart(chart, [_values(chart, "old")])
    names = {each.name for each in rendered.resources}
    assert "disallow-host-path" in names
    assert "mine" not in names
    assert "restrict-volume-types" not in names
    notes = dry_run(chart, [_values(chart, "old")], kube_version="v1.34.0").notes
    assert "Profile: pss-baseline" in notes
    assert "Pod Security Standard: baseline" in notes


def test_notes_name_policies_by_their_action(tmp_path: Path) -> None:
    chart = plan(_project(tmp_path))
    notes = dry_run(chart, [{"validationFailureAction": "Enforce"}], kube_version="v1.34.0").notes
    assert "Mode: Enforce" in notes
    assert re.search(r"refused \(1\):\n  mine\n", notes)
    assert re.search(r"reported \(0\):\n  none\n", notes)
    assert "Kyverno: 1.19.0 (assumed" in notes


@pytest.mark.parametrize(
    ("version", "spec", "rule", "validate"),
    [
        ("1.6", {"validationFailureAction": "audit"}, set(), set()),
        ("1.8", {"validationFailureAction": "audit"}, set(), set()),
        ("1.9", {"validationFailureAction": "Audit"}, set(), set()),
        ("1.11", {"admission": True}, set(), set()),
        ("1.12.3", {"admission": True}, {"skipBackgroundRequests"}, set()),
        (
            "v1.13.0-rc.1",
            {"admission": True, "emitWarning": False},
            {"skipBackgroundRequests"},
            {"failureAction", "allowExistingViolations"},
        ),
    ],
)
def test_a_version_gets_the_fields_that_it_has(
    tmp_path: Path, version: str, spec: Body, rule: set[str], validate: set[str]
) -> None:
    body = _mine(plan(_project(tmp_path)), kyvernoVersion=version)["spec"]
    written = {"background": True, "failurePolicy": "Fail", "validationFailureAction": "Audit"}
    rules = body.pop("rules")
    assert body == written | spec
    assert set(rules[0]) == {"name", "match", "validate"} | rule
    assert set(rules[0]["validate"]) == {"message", "pattern"} | validate


def test_overrides_stand_where_the_version_reads_them(tmp_path: Path) -> None:
    chart = plan(_project(tmp_path))
    given = {"all": [{"action": "Enforce", "namespaces": ["a"]}]}
    old = _mine(chart, kyvernoVersion="1.8", validationFailureActionOverrides=given)["spec"]
    assert old["validationFailureActionOverrides"] == [{"action": "enforce", "namespaces": ["a"]}]
    middle = _mine(chart, kyvernoVersion="1.12", validationFailureActionOverrides=given)["spec"]
    assert middle["validationFailureActionOverrides"] == given["all"]
    new = _mine(chart, validationFailureActionOverrides=given)["spec"]
    assert "validationFailureActionOverrides" not in new
    assert new["rules"][0]["validate"]["failureActionOverrides"] == given["all"]


_RESOURCES = {"kinds": ["Pod"], "operations": ["CREATE"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"kyvernoVersion": "1.9", "exclude": {"any": [{"resources": _RESOURCES}]}},
            r"spec.rules\[\].exclude.any\[\].resources.operations needs Kyverno 1.10",
        ),
        (
            {"kyvernoVersion": "1.12", "validationAllowExistingViolations": False},
            "allowExistingViolations needs Kyverno 1.13",
        ),
        (
            {
                "kyvernoVersion": "1.9",
                "validationFailureActionOverrides": {
                    "all": [{"action": "Audit", "namespaceSelector": {"matchLabels": {"a": "b"}}}]
                },
            },
            "namespaceSelector needs Kyverno 1.10",
        ),
    ],
)
def test_what_a_version_would_drop_is_refused(tmp_path: Path, values: Body, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        _mine(plan(_project(tmp_path)), **values)


def test_a_policy_too_new_for_the_given_version_is_refused(tmp_path: Path) -> None:
    chart = plan(_project(tmp_path, minimum="1.12"))
    with pytest.raises(RenderError, match=r"policy mine needs Kyverno 1.12, and this is 1.11.2"):
        _mine(chart, kyvernoVersion="1.11.2")


_CONDITIONS = [{"key": name, "operator": "Equals", "value": "{{ x }}"} for name in "abcd"]
_FILTERS = [{"resources": {"namespaces": [name]}} for name in "abc"]


@pytest.mark.parametrize(
    ("own", "everywhere", "policy", "joined"),
    [
        (None, {}, {}, None),
        ({"any": [_FILTERS[0]]}, {}, {}, {"any": [_FILTERS[0]]}),
        ({"any": [_FILTERS[0]]}, {"any": [_FILTERS[1]]}, {}, {"any": _FILTERS[:2]}),
        ({"all": [_FILTERS[0]]}, {"all": [_FILTERS[1]]}, {"any": [_FILTERS[2]]}, {"any": _FILTERS}),
        (_FILTERS[0], {}, {"any": [_FILTERS[1]]}, {"any": _FILTERS[:2]}),
        (None, {}, {"all": _FILTERS}, {"all": _FILTERS}),
        (None, {}, {"all": _FILTERS[:1], "any": _FILTERS[1:2]}, "has any and all"),
        ({"any": [_FILTERS[0]]}, {}, {"all": _FILTERS[1:]}, "cannot be joined"),
    ],
)
def test_exclusions_are_joined(
    tmp_path: Path, own: Body | None, everywhere: Body, policy: Body, joined: Body | str | None
) -> None:
    text = _RULE + (f"      exclude: {json.dumps(own)}\n" if own else "") + _PATTERN
    chart = plan(_project(tmp_path, text))
    values = {"exclude": everywhere, "policies": {"mine": {"exclude": policy}}}
    if isinstance(joined, str):
        with pytest.raises(RenderError, match=joined):
            _rule(chart, **values)
    else:
        assert _rule(chart, **values).get("exclude") == joined


def test_a_rule_s_block_takes_the_place_of_its_policy_s(tmp_path: Path) -> None:
    chart = plan(_project(tmp_path, _RULE + _PATTERN))
    values: Body = {"policyExclude": {"mine": {"any": _FILTERS[:1]}}}
    for rule, joined in (
        ({"any": _FILTERS[1:2]}, {"any": _FILTERS[1:2]}),
        ({"all": _FILTERS[1:2]}, {"any": _FILTERS[:2]}),
    ):
        values["policyExclude"]["rule"] = rule
        assert _rule(chart, **values)["exclude"] == joined
    conditions: Body = {"mine": {"all": _CONDITIONS[:1]}, "rule": {"all": _CONDITIONS[1:2]}}
    assert _rule(chart, policyPreconditions=conditions)["preconditions"] == conditions["rule"]


@pytest.mark.parametrize(
    ("own", "policy", "joined"),
    [
        (None, {}, None),
        ({"all": _CONDITIONS[:1]}, {}, {"all": _CONDITIONS[:1]}),
        ({"all": _CONDITIONS[:1]}, {"all": _CONDITIONS[1:2]}, {"all": _CONDITIONS[:2]}),
        (_CONDITIONS[:1], {"all": _CONDITIONS[1:2]}, {"all": _CONDITIONS[:2]}),
        (
            {"all": _CONDITIONS[:1]},
            {"any": _CONDITIONS[1:3]},
            {"all": _CONDITIONS[:1], "any": _CONDITIONS[1:3]},
        ),
        (
            {"any": _CONDITIONS[:2]},
            {"any": _CONDITIONS[2:3]},
            {"all": _CONDITIONS[2:3], "any": _CONDITIONS[:2]},
        ),
        ({"any": _CONDITIONS[:2]}, {"any": _CONDITIONS[2:]}, "cannot be joined"),
    ],
)
def test_preconditions_are_joined(
    tmp_path: Path, own: Any, policy: Body, joined: Body | str | None
) -> None:
    text = _RULE + (f"      preconditions: {json.dumps(own)}\n" if own else "") + _PATTERN
    chart = plan(_project(tmp_path, text))
    values = {"policies": {"mine": {"preconditions": policy}}}
    if isinstance(joined, str):
        with pytest.raises(RenderError, match=joined):
            _rule(chart, **values)
    else:
        assert _rule(chart, **values).get("preconditions") == joined


def test_what_a_policy_says_of_itself_stays(tmp_path: Path) -> None:
    text = _RULE.replace(
        "spec:\n",
        "  annotations: {pod-policies.kyverno.io/autogen-controllers: none, own: x}\n"
        "spec:\n  background: false\n",
    )
    body = _mine(plan(_project(tmp_path, text + _PATTERN)), autogenControllers="Deployment")
    assert body["spec"]["background"] is False
    annotations = body["metadata"]["annotations"]
    assert annotations["pod-policies.kyverno.io/autogen-controllers"] == "none"
    assert annotations["own"] == "x"
    assert annotations["policies.kyverno.io/severity"] == "high"


def test_defaults_of_other_rule_types_are_written_out(tmp_path: Path) -> None:
    text = _RULE + (
        "      context: [{name: a, apiCall: {urlPath: /x}}]\n"
        "      verifyImages:\n"
        "        - imageReferences: ['*']\n"
        "          attestors: [{entries: [{keys: {publicKeys: k}}]}]\n"
    )
    rule = _rule(plan(_project(tmp_path, text, minimum="1.7")))
    assert rule["context"][0]["apiCall"]["method"] == "GET"
    images = rule["verifyImages"][0]
    assert all(images[key] for key in ("mutateDigest", "required", "verifyDigest", "useCache"))
    entry = images["attestors"][0]["entries"][0]
    assert entry["signatureAlgorithm"] == entry["keys"]["signatureAlgorithm"] == "sha256"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            '  old: {kyverno: "1.9", kubernetes: "1.25"}\n',
            r"chartkit.yaml:7:\d+: policy 'mine' needs Kyverno 1.10, and environment 'old' has 1.9",
        ),
        ("    policies: {mine: {action: Force}}\n", "Kyverno's word is Enforce"),
        ("    policies: {min: {action: Audit}}\n", "there is no policy 'min' .*'mine'"),
    ],
)
def test_mistakes_in_the_project(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        plan(_project(tmp_path, lines=lines, minimum="1.10"))
    assert re.search(message, str(raised.value))


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    project = _project(tmp_path)
    write_policy(tmp_path / "library", "other/mine")
    with pytest.raises(InputError, match="two policies 'mine'"):
        plan(project)


def test_a_policy_of_a_built_in_one_s_name_is_refused(tmp_path: Path) -> None:
    project = _project(tmp_path)
    write_policy(tmp_path / "library", "own/disallow-host-path")
    with pytest.raises(InputError, match="two policies 'disallow-host-path'"):
        plan(project)


def test_a_custom_policy_of_a_chart_s_name_is_refused(tmp_path: Path) -> None:
    chart = plan(_project(tmp_path))
    own = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "mine"}}
    with pytest.raises(RenderError, match="two policies 'mine'"):
        _mine(chart, customPolicies=[own])
    off = {"customPolicies": [own], "policies": {"mine": {"enabled": False}}}
    assert _mine(chart, **off) == own


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            _RULE.replace("{kinds: [Pod]}", "{kinds: [Pod], operations: [CREATE]}") + _PATTERN,
            'claims Kyverno 1.6, but spec.*operations came with 1.10 .*minimumKyverno: "1.10"',
        ),
        (POLICY.replace("{name}", "yours", 1), "policy 'mine' calls itself 'yours'"),
        (POLICY.replace("ClusterPolicy", "Pod"), "policy 'mine' is no ClusterPolicy"),
        (POLICY.partition("  rules")[0] + "  rules: []\n  x: [", "mine"),
        (POLICY.replace("- name: check-{name}\n      match", "- match"), "one without a name"),
        (POLICY + "<%= parameter('gone') %>\n", "no parameter 'gone'"),
        (POLICY + "<% if %>\n", "template"),
    ],
)
def test_mistakes_in_a_policy(tmp_path: Path, policy: str, message: str) -> None:
    project = _project(tmp_path, policy)
    with pytest.raises(ChartkitError) as raised:
        plan(project)
    assert re.search(message, str(raised.value))
    assert "mine" in str(raised.value.location)


@pytest.mark.parametrize("name", ["Mine", "a}}{{ fail 1 }}", "a b", "-a"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    project = _project(tmp_path)
    write_policy(tmp_path / "library", f"own/{name}")
    write_profile(tmp_path / "own.yaml", "policies: {own/mine: {}}")
    library = read_libraries(project)
    with pytest.raises(InputError, match="cannot be the name of a policy"):
        read_templates([library.policies[name]])


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("ghcr.io/kyverno/kyverno:v1.12.0", "1.12.0"),
        ("registry:5000/kyverno/kyverno:1.9.2@sha256:0123", "1.9.2"),
        ("registry:5000/kyverno/kyverno@sha256:0123", ""),
        ("reg.kyverno.io/kyverno/kyverno:v1.19.0-rc.1", "1.19.0-rc.1"),
        ("reg.kyverno.io/kyverno/kyverno:main", ""),
    ],
)
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
    ("action", "message"),
    [("Force", "did you mean Enforce"), ("Block", "it is Audit or Enforce")],
)
def test_actions_are_refused_without_the_schema_too(
    tmp_path: Path, action: str, message: str
) -> None:
    chart = plan(_project(tmp_path))
    files = {name: text for name, text in chart.files.items() if name != "values.schema.json"}
    with pytest.raises(RenderError, match=message):
        _mine(replace(chart, files=files), validationFailureAction=action)


def test_a_profile_without_a_project() -> None:
    names = {each.name for each in render_profile("pss-baseline", {})}
    assert "disallow-host-path" in names
    assert "restrict-volume-types" not in names
    older = {each.name for each in render_profile("pss-baseline", {"podSecurityVersion": "v1.24"})}
    assert names - older == {"disallow-host-probes"}
    for wrong in ({"podSecurityversion": "v1.24"}, {"podSecurityVersion": "1.24"}):
        with pytest.raises(InputError):
            plan_for_profile("pss-baseline", wrong)
