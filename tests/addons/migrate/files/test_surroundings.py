"""What stands around policies: values, kustomize patches, templates and exceptions."""

from pathlib import Path

import pytest
import yaml

from chartkit.addons.migrate.files import report
from chartkit.documents import input_files
from tests.addons.migrate.files.migrations import migrated
from tests.data import beside, from_table

_POLICY = beside(__file__)["policy"]
_PATCH = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec: {validationFailureAction: Enforce}
"""


def _mentions(folder: Path) -> list[str]:
    found = migrated(folder)
    assert found.inventory.faults == ()
    assert [each.legacy.resource.kind for each in found.objects][:1] == ["ClusterPolicy"]
    assert found.exit_code(check=False) == 1
    assert (folder / "policy.yaml").name in [Path(each.file).name for each in found.files]
    return [
        f"{Path(each.location.file).name}:{each.location.line}: {each.what}"
        for each in found.mentions
    ]


def test_kustomize_patches_are_named_and_are_no_policies(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "patch.yaml").write_text(_PATCH)
    (tmp_path / "kustomization.yaml").write_text(
        beside(__file__)["kustomize_patches_are_named_and_are_no_policies"]
    )
    text = "a kustomize patch of ClusterPolicy/team, which the new policies do not get"
    assert _mentions(tmp_path) == [
        f"patch.yaml:1: {text}: its kustomization has replacements",
        f"kustomization.yaml:4: {text}: its kustomization has replacements",
        "kustomization.yaml:9: a kustomize replacement in a policy, "
        "which the new policies do not get",
    ]


_INLINE = "apiVersion: kyverno.io/v1\n      kind: ClusterPolicy\n      metadata: {name: team}"
_NO_PATCH = "which the new policies do not get"


@from_table("patch", "named")
def test_patches_are_named_by_what_they_select(tmp_path: Path, patch: str, named: str) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "kustomization.yaml").write_text(f"resources: [policy.yaml]\n{patch}\n")
    found = [each.what.partition(": ")[0] for each in migrated(tmp_path).mentions]
    assert found == ([f"a kustomize patch of {named}, {_NO_PATCH}"] if named else [])


def test_a_target_is_a_regular_expression_of_go(tmp_path: Path) -> None:
    """One that backtracks would try 2^40 ways."""
    name = "a" * 60
    (tmp_path / "policy.yaml").write_text(_POLICY.replace("team", name))
    target = "patches: [{target: {name: (a|aa)+b}, path: a.json}]\n"
    (tmp_path / "kustomization.yaml").write_text(f"resources: [policy.yaml]\n{target}")
    assert not migrated(tmp_path).mentions


def test_replacements_in_a_file_of_their_own_are_named(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "one.yaml").write_text("targets: [{select: {kind: ClusterPolicy}}]\n")
    (tmp_path / "kustomization.yaml").write_text("replacements: [{path: one.yaml}]\n")
    (mention,) = migrated(tmp_path).mentions
    assert mention.what.startswith("a kustomize replacement in a policy")


_APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: "
_FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: "
_ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules: "
_CHAINSAW = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nspec: "
_ONE = "apiVersion: kyverno.io/v1, kind: ClusterPolicy"


_ALERT = "groups: [{rules: [{expr: 'sum(%s) > 0'}]}]"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            f"{_APPLICATION}{{ignoreDifferences: [{{group: kyverno.io, kind: ClusterPolicy}}]}}",
            "names every ClusterPolicy",
        ),
        (
            f"{_APPLICATION}{{source: {{kustomize: {{patches: [{{target: {{kind: Policy}}}}]}}}}}}",
            "a kustomize patch of every Policy",
        ),
        (f"{_FLUX}{{healthChecks: [{{{_ONE}, name: team}}]}}", "names ClusterPolicy/team"),
        (f"{_FLUX}{{patches: [{{target: {{kind: ClusterPolicy}}}}]}}", "a kustomize patch of"),
        (
            f"{_ROLE}[{{apiGroups: [kyverno.io], resources: [clusterpolicies, updaterequests]}}]",
            "a permission for clusterpolicies, ",
        ),
        (f"{_ROLE}[{{apiGroups: [policies.kyverno.io], resources: [policyexceptions]}}]", ""),
        (
            f"{_CHAINSAW}{{steps: [{{{_ONE}, metadata: {{name: team}}, spec: {{}}}}]}}",
            "holds ClusterPolicy/team, which stays",
        ),
        (_ALERT % "kyverno_policy_results_total", "a query of kyverno_policy_results_total"),
        (_ALERT % 'kyverno_policy_rule_info_total{policy_name=~"te.*"}', "a query of"),
        (_ALERT % 'kyverno_policy_results_total{policy_name="other"}', ""),
        (_ALERT % "kyverno_policy_results_total or kyverno_validating_policy_results_total", ""),
        (f"extraObjects: [{{{_ONE}, metadata: {{name: a}}, spec: {{}}}}]", "holds ClusterPolicy/a"),
        (f"{{{_ONE}, metadata: {{name: team}}, status: {{}}}}", "a test waits for the status of"),
        ("apiVersion: v1\nkind: Pod\nspec: {target: {port: 1}, apiGroups: 7}", ""),
        (f"{_APPLICATION}{{a: [{{group: kyverno.io, kind: [a]}}]}}", ""),
        (f"{_ROLE}[{{apiGroups: [kyverno.io], resources: [[a], {{}}]}}]", ""),
    ],
)
def test_what_names_policies_is_named(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "text.yaml").write_text(f"{text}\n")
    found = migrated(tmp_path)
    assert found.inventory.faults == ()
    assert [each.what[: len(named)] for each in found.mentions] == ([named] if named else [])
    assert all(each.location.line for each in found.mentions)


_HELM = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec: "


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("kyverno-policies: {policyExclude: {}}", ["policyExclude"]),
        ("releases: [{values: [{autogenControllers: none}]}]", ["autogenControllers"]),
        (f"{_HELM}{{values: {{validationFailureAction: Audit}}}}", ["validationFailureAction"]),
        (
            f"{_APPLICATION}{{source: {{helm: {{parameters: "
            "[{name: validationFailureAction, value: Enforce}]}}}",
            ["validationFailureAction"],
        ),
        (
            f"{_APPLICATION}\n  source:\n    helm:\n      values: |\n        a: 1\n"
            "        policyExclude: {}\n        validationFailureActionByPolicy: {}",
            ["policyExclude", "validationFailureActionByPolicy"],
        ),
        ("$schema: x\nproperties: {policyExclude: {}}", []),
        ("apiVersion: example.com/v1\nkind: Widget\nspec: {policyExclude: {}}", []),
    ],
)
def test_values_are_named_wherever_they_stand(tmp_path: Path, text: str, named: list[str]) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "text.yaml").write_text(f"{text}\n")
    assert [each.what.partition(" is ")[0] for each in migrated(tmp_path).mentions] == named


@pytest.mark.parametrize("is_named", [True, False])
def test_a_chart_that_is_not_there_is_no_all_clear(tmp_path: Path, is_named: bool) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text(
        "apiVersion: v2\nname: c\nversion: 1.0.0\n"
        "dependencies: [{name: kyverno-policies, version: 3.2.0, repository: https://a.example}]\n"
    )
    (chart / "values.yaml").write_text("kyverno-policies: {validationFailureAction: Enforce}\n")
    found = migrated(chart if is_named else tmp_path)
    (unread,) = found.inventory.unread
    assert "depends on the chart 'kyverno-policies', which is not in its charts/" in unread
    assert [each.what.partition(" is ")[0] for each in found.mentions] == [
        "validationFailureAction"
    ]
    assert found.exit_code(check=False) == 1


def test_a_new_policy_that_is_there_already_is_named(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (new,) = yaml.safe_load_all(migrated(tmp_path).text)
    (tmp_path / "by-hand.yaml").write_text(yaml.safe_dump(new))
    other = {**new, "metadata": {"name": "other"}}
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(other))
    assert _mentions(tmp_path) == [
        "by-hand.yaml:1: ValidatingPolicy/team is there already, and what ClusterPolicy/team "
        "becomes has the same name"
    ]


def test_values_of_charts_of_policies_are_named(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    (tmp_path / "values.yaml").write_text(
        "replicas: 1\nvalidationFailureAction: Audit\npolicyExclude: {}\n"
    )
    assert [each.partition(" is ")[0] for each in _mentions(tmp_path)] == [
        "values.yaml:2: validationFailureAction",
        "values.yaml:3: policyExclude",
    ]


def test_an_exception_that_stays_is_named(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        f"""{_POLICY}---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {{name: quiet, namespace: shop}}
spec:
  match: {{any: [{{resources: {{kinds: [Pod]}}, subjects: [{{kind: User, name: a}}]}}]}}
  podSecurity: [{{controlName: Capabilities, images: ["*"]}}]
  exceptions:
    - {{policyName: team, ruleNames: [team]}}
"""
    )
    assert _mentions(tmp_path) == [
        "policy.yaml:19: names ClusterPolicy/team, which converts: "
        "the new policy applies without this exception"
    ]


def test_templates_of_charts_are_named(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (chart / "templates" / "p.yaml").write_text(_POLICY)
    found = migrated(tmp_path)
    (mention,) = found.mentions
    assert "the policy of this template stays: metadata and spec" in mention.what
    assert found.text.startswith("apiVersion: policies.kyverno.io/v1\n")
    assert found.files == []


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "policy.yaml": _POLICY,
        "patch.yaml": _PATCH,
        "kustomization.yaml": "resources: [policy.yaml]\npatches: [{path: patch.yaml}]\n",
        "values.yaml": "policyExclude: {}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    read: list[str] = []
    source = input_files.read_text

    def counted(path: Path) -> str:
        if tmp_path in Path(path).parents:
            read.append(Path(path).name)
        return source(path)

    monkeypatch.setattr(input_files, "read_text", counted)
    migrated(tmp_path)
    assert sorted(read) == sorted(texts)


@from_table("files", "wanted")
def test_policies_of_charts_without_a_template_are_named(
    tmp_path: Path, files: dict[str, str], wanted: list[str]
) -> None:
    for name, text in {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", **files}.items():
        file = tmp_path / "c" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("POLICY", _POLICY))
    found = [mention.what for mention in migrated(tmp_path / "c").mentions]
    assert [each.replace(f"{tmp_path}/", "") for each in found] == wanted


_TEMPLATE = beside(__file__)["template"]


def _chart(folder: Path) -> Path:
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("team:\n  validationFailureAction: Audit\n")
    (chart / "templates" / "p.yaml").write_text(_TEMPLATE)
    return chart


def test_values_of_a_chart_with_both_forms_are_read(tmp_path: Path) -> None:
    found = migrated(_chart(tmp_path))
    assert list(found.mentions) == []
    assert {Path(file.file).name for file in found.files} == {"p.yaml", "values.yaml"}
    assert found.exit_code(check=False) == 0


@pytest.mark.parametrize(
    "release",
    [
        "kind: HelmRelease\nspec:\n  chart: {spec: {chart: ./chart}}\n  values: {team: VALUES}\n",
        "kind: HelmRelease\nspec:\n  chart: {spec: {chart: c}}\n  values: {team: VALUES}\n",
        "kind: Application\nspec:\n  source:\n    path: a/chart\n"
        "    helm: {valuesObject: VALUES}\n",
        "kind: ApplicationSet\nspec:\n  template:\n    spec:\n      source:\n"
        "        path: a/chart\n        helm: {valuesObject: VALUES}\n",
        "kind: Application\nspec:\n  sources: [{chart: c, helm: {valuesObject: VALUES}}]\n",
    ],
)
def test_releases_of_a_chart_with_both_forms_set_its_values(tmp_path: Path, release: str) -> None:
    _chart(tmp_path)
    text = release.replace("VALUES", "{validationFailureAction: Enforce}")
    (tmp_path / "release.yaml").write_text(f"apiVersion: a/v1\nmetadata: {{name: a}}\n{text}")
    assert list(migrated(tmp_path).mentions) == []
    other = text.replace("chart}", "x}").replace("a/chart", "x").replace("chart: c", "chart: x")
    (tmp_path / "release.yaml").write_text(f"apiVersion: a/v1\nmetadata: {{name: a}}\n{other}")
    assert [Path(each.location.file).name for each in migrated(tmp_path).mentions] == [
        "release.yaml"
    ]


def test_what_names_policies_of_charts_holds_until_their_values_change(tmp_path: Path) -> None:
    _chart(tmp_path)
    exception = tmp_path / "exception.yaml"
    exception.write_text(_CHART_EXCEPTION)
    test = "policies: [rendered.yaml]\nresources: [pod.yaml]\nresults:\n"
    test += "- {policy: team, rule: team, kind: Pod, resources: [a], result: pass}\n"
    head = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: a}\n"
    (tmp_path / "kyverno-test.yaml").write_text(head + test)
    found = migrated(tmp_path)
    assert list(found.tests) == []
    (mention,) = found.mentions
    assert mention.what.startswith("PolicyException/x/a stays next to its new form")
    (after,) = [file.after for file in found.files if file.file == str(exception)]
    assert after.startswith("apiVersion: policies.kyverno.io/v1\n")
    assert after.endswith(f"---\n{_CHART_EXCEPTION}")
    exception.write_text(after)
    again = migrated(tmp_path)
    assert [each.legacy.resource.kind for each in again.objects] == ["ClusterPolicy"]
    assert str(exception) not in [file.file for file in again.files]


_CHART_EXCEPTION = beside(__file__)["chart-exception"]


def test_what_several_files_have_is_said_once(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(_POLICY.replace("name: team", f"name: {name}"))
        (tmp_path / name / "kyverno-test.yaml").write_text(f"name: {name}\nresults: []\n")
    done = migrated(tmp_path)
    lines = [block for block in report.text(done) if isinstance(block, str)]
    said = " ".join(line.strip() for line in lines)
    assert len(done.mentions) == 3
    assert said.count("has no apiVersion") == 1
    assert "(and 2 more): not carried along: the test is not rewritten" in said


def test_reasons_for_which_requests_are_left_out_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(_POLICY)
    done = migrated(tmp_path, prove=True)
    lines = " ".join(block for block in report.text(done) if isinstance(block, str)).split()
    (proof,) = (policy.proof for policy in done.objects)
    assert proof is not None
    assert lines.count("left") == 1
    assert f"{sum(proof.left_out.values())}:" in lines
