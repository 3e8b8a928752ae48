"""What is said of what the rendered policies need."""

from pathlib import Path

import pytest

from chartkit.project.project import read_project
from chartkit.render.model import Outcome, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside
from tests.unit.project.project_files import write_policy, write_profile

_TEXTS = beside(__file__)
MAKE = _TEXTS["make"]
PARAMETERS = _TEXTS["parameters"]
READS = [
    "make reads ConfigMap rules/teams, which must be in the cluster",
    "make asks GlobalContextEntry nodes, which must be in the cluster",
]


def check(
    folder: Path, values: str = "", parameters: str = "{}", kyverno: str = "1.19"
) -> list[Row]:
    """The rows of a project whose values are edited so."""
    made = write_policy(folder / "policies", "own/make", MAKE, "1.12", PARAMETERS)
    for name in ("good.yaml", "bad.yaml"):
        (made / name).unlink()
    write_profile(folder / "all.yaml", f"policies:\n  own/make: {{parameters: {parameters}}}")
    (folder / "chartkit.yaml").write_text(
        "library: [policies]\nprofiles: [./all.yaml]\nenvironments:\n"
        f'  dev: {{kubernetes: "1.34", kyverno: "{kyverno}", engine: false, '
        "policyType: ClusterPolicy}\n"
    )
    project = read_project(folder)
    options = RenderOptions(tuple(project.environments.values()))
    if values:
        render_project(project, options)
        file = folder / "charts" / "kyverno-policies" / "values_dev.yaml"
        file.write_text(file.read_text() + values)
    done = render_project(project, options)
    return [row for row in done.rows if row.check == "permissions"]


def test_needs_that_the_chart_meets(tmp_path: Path) -> None:
    found = check(tmp_path)
    assert [row.outcome for row in found] == [Outcome.PASS, Outcome.NOTE, Outcome.NOTE]
    assert found[0].message == "1 permission beyond those of Kyverno's chart"
    assert [row.message for row in found[1:]] == READS


def test_a_parameter_that_says_another_kind(tmp_path: Path) -> None:
    """The roles know the default and the examples; values may say what nobody has seen."""
    parameters = "{version: example.com/v1, kind: Widget}"
    warning = next(row for row in check(tmp_path, "", parameters) if row.outcome != Outcome.NOTE)
    assert warning.outcome is Outcome.WARNING
    assert warning.message == (
        "make: Kyverno's background-controller may not create, get widgets.example.com"
    )
    assert "backgroundController.rbac.clusterRole.extraResources" in (warning.hint or "")
    assert warning.location is not None
    assert warning.location.file.endswith("make.yaml")


@pytest.mark.slow
def test_values_that_make_config_maps_and_no_roles(tmp_path: Path) -> None:
    values = """
permissions: {create: false}
configMaps: [{namespace: rules, name: teams, data: {name: a}}]
"""
    found = check(tmp_path, values, "{version: example.com/v1, kind: Widget}")
    assert [row.outcome for row in found] == [Outcome.PASS, Outcome.NOTE]
    assert found[1].message == READS[1]


@pytest.mark.slow
def test_custom_policies_are_looked_at_too(tmp_path: Path) -> None:
    values = """
customPolicies:
  - apiVersion: kyverno.io/v2
    kind: ClusterCleanupPolicy
    metadata: {name: mine}
    spec:
      schedule: "0 3 * * *"
      match: {any: [{resources: {kinds: [Pod, Widget]}}]}
"""
    found = [row for row in check(tmp_path, values) if row.message.startswith("mine")]
    assert [(row.outcome, row.message) for row in found] == [
        (Outcome.WARNING, "mine: Kyverno's cleanup-controller may not delete, list pods"),
        (Outcome.NOTE, "mine: no group is known for kind 'Widget'"),
    ]


def test_an_old_chart_of_kyvernos_gathers_no_roles(tmp_path: Path) -> None:
    found = check(tmp_path, kyverno="1.12")
    (warning,) = (row for row in found if row.outcome is Outcome.WARNING)
    assert "chart of Kyverno 1.12 does not gather the ClusterRoles" in warning.message


@pytest.mark.slow
def test_definitions_beside_the_policy_name_its_kinds(tmp_path: Path) -> None:
    names = "{kind: Relay, plural: relays}"
    folder = tmp_path / "policies" / "own" / "make"
    parameters = "{version: example.com/v1, kind: Relay}"
    check(tmp_path, "", parameters)
    (folder / "crds.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"spec: {{group: example.com, names: {names}}}\n"
    )
    text = (folder / "metadata.yaml").read_text()
    text = text.replace("default: v1", "default: example.com/v1").replace("Secret", "Relay")
    (folder / "metadata.yaml").write_text(text)
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    assert not [row for row in done.rows if row.outcome is Outcome.WARNING]
    role = (tmp_path / "rendered" / "dev" / "kyverno-policies.yaml").read_text()
    assert 'resources: ["relays"]' in role
    assert "guess" not in role
