"""What stands around policies: values, kustomize patches, templates and exceptions."""

from __future__ import annotations

from pathlib import Path

from tests.unit.migration.files.migrations import migrated

_POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
    - name: team
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: m
        pattern: {metadata: {labels: {team: "?*"}}}
"""
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
        "resources: [policy.yaml]\n"
        "patches:\n"
        "  - path: patch.yaml\n"
        "  - target: {kind: ClusterPolicy, name: team}\n"
        "    patch: '[]'\n"
        "  - target: {kind: Deployment}\n"
        "    patch: '[]'\n"
        "replacements:\n"
        "  - source: {kind: ConfigMap, name: a}\n"
        "    targets: [{select: {kind: ClusterPolicy}, fieldPaths: [a]}]\n"
    )
    text = "a kustomize patch of ClusterPolicy/team, which the new policies do not get"
    assert _mentions(tmp_path) == [
        f"patch.yaml:1: {text}",
        f"kustomization.yaml:4: {text}",
        "kustomization.yaml:9: a kustomize replacement in a policy, "
        "which the new policies do not get",
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
metadata: {{name: off, namespace: shop}}
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
    assert "ClusterPolicy/team is rendered from a chart" in mention.what
    assert found.text.startswith("apiVersion: policies.kyverno.io/v1\n")
    assert found.files == []
