"""What chartkit.yaml says, in the keys that a vendored chart has."""

from pathlib import Path

import pytest

from chartkit.charts.upstream.chart_files import ChartFiles, read_chart
from chartkit.charts.upstream.values import Said, environment_values
from chartkit.errors import InputError
from chartkit.model import Body, Severity
from chartkit.project.environment import Environment
from chartkit.project.project import read_project
from tests.data import from_table
from tests.unit.charts.upstream.vendored_files import chart
from tests.unit.project.project_files import write_profile


def _environment(
    folder: Path, more: str, project: str = "profiles: [pss-restricted]"
) -> Environment:
    (folder / "chartkit.yaml").write_text(
        f'{project}\nenvironments:\n  dev:\n    kyverno: "1.19"\n    kubernetes: "1.34"\n{more}'
    )
    return read_project(folder).environments["dev"]


def _policies(more: str = "", policies: int = 1) -> ChartFiles:
    """The small chart with further values, and with so many policies."""
    files = chart("kyverno-policies")
    files["values.yaml"] += more.encode()
    for at in range(1, policies):
        files[f"templates/other/policy-{at}.yaml"] = b""
        files[f"templates/other/policy-{at}.cel.yaml"] = b""
    return read_chart(files, "chart")


def _said(folder: Path, more: str, found: ChartFiles | None = None, **given: str) -> Said:
    environment = _environment(folder, more, **given)
    return environment_values(found or _policies(), environment, folder)


def test_the_engine_gets_its_replicas(tmp_path: Path) -> None:
    engine = read_chart(chart(), "chart")
    assert _said(tmp_path, "", engine) == Said({})
    assert _said(tmp_path, "    highAvailability: true\n", engine).values == {
        "admissionController": {"replicas": 3},
        "backgroundController": {"replicas": 2},
        "cleanupController": {"replicas": 2},
        "reportsController": {"replicas": 2},
    }


def test_a_controller_that_the_chart_has_not_gets_none(tmp_path: Path) -> None:
    files = {**chart(), "values.yaml": b"admissionController: {replicas: 1}\n"}
    said = _said(tmp_path, "    highAvailability: true\n", read_chart(files, "chart"))
    assert said.values == {"admissionController": {"replicas": 3}}


def test_the_reporter_gets_nothing_yet(tmp_path: Path) -> None:
    assert _said(tmp_path, "", read_chart(chart("policy-reporter"), "chart")) == Said({})


def test_actions_and_the_standard(tmp_path: Path) -> None:
    said = _said(tmp_path, "    policies:\n      disallow-host-path: {action: Audit}\n")
    assert said.values == {
        "validationFailureAction": "Enforce",
        "validationFailureActionByPolicy": {"disallow-host-path": "Audit"},
        "podSecurityStandard": "restricted",
    }
    assert said.left == ()


def test_actions_of_older_charts_are_in_small_letters(tmp_path: Path) -> None:
    files = chart("kyverno-policies")
    files["values.yaml"] = files["values.yaml"].replace(b"Audit", b"audit")
    more = "    policies:\n      baseline/disallow-host-path: {action: Audit}\n"
    values = _said(tmp_path, more, read_chart(files, "chart")).values
    assert values["validationFailureAction"] == "enforce"
    assert values["validationFailureActionByPolicy"] == {"disallow-host-path": "audit"}


@from_table("profiles", "standard", "warned")
def test_values_profiles(tmp_path: Path, profiles: str, standard: str | None, warned: int) -> None:
    write_profile(tmp_path / "own.yaml", "description: own\n")
    said = _said(tmp_path, "", project=f"profiles: [{profiles}]")
    assert said.values.get("podSecurityStandard") == standard
    assert len(said.left) == warned
    for each in said.left:
        assert each.severity is Severity.WARNING
        assert str(each.location) == f"{tmp_path}/chartkit.yaml:1:12"


_LEFT = """\
    parameters: {x: 1}
    policies:
      elsewhere: {action: Audit}
      disallow-host-path: {enabled: false, parameters: {y: 1}}
"""


def test_what_the_chart_has_no_key_for_is_told(tmp_path: Path) -> None:
    found = {str(each.location): each.message for each in _said(tmp_path, _LEFT).left}
    places = [place.removeprefix(f"{tmp_path}/chartkit.yaml:") for place in found]
    assert places == ["8:7", "9:28", "9:44", "6:5"]
    assert "no policy 'elsewhere'" in found[f"{tmp_path}/chartkit.yaml:8:7"]


def test_a_key_of_another_version_is_left_out(tmp_path: Path) -> None:
    files = chart("kyverno-policies")
    files["values.yaml"] = b"validationFailureAction: Audit\n"
    said = _said(tmp_path, "", read_chart(files, "chart"))
    assert said.values == {"validationFailureAction": "Enforce"}
    assert ["no key podSecurityStandard" in each.message for each in said.left] == [True]


_EXCLUDE = """\
    exclude: [{namespaces: [kube-system]}]
    policies:
      disallow-host-path:
        exclude: [{namespaces: [a, b]}, {kinds: [Pod], names: ["x-*"]}]
"""


def test_values_exclusions(tmp_path: Path) -> None:
    shared: Body = {"resources": {"namespaces": ["kube-system"]}}
    assert _said(tmp_path, _EXCLUDE, _policies(policies=2)).values["policyExclude"] == {
        "disallow-host-path": {
            "any": [
                shared,
                {"resources": {"namespaces": ["a", "b"]}},
                {"resources": {"kinds": ["Pod"], "names": ["x-*"]}},
            ]
        },
        "policy-1": {"any": [shared]},
    }


def test_exclusions_in_cel_are_namespaces(tmp_path: Path) -> None:
    found = _policies("policyType: ValidatingPolicy\nvpolExclude: {}\nvpolExcludeByPolicy: {}\n")
    said = _said(tmp_path, _EXCLUDE, found)
    assert said.values["vpolExclude"] == {"excludeNamespaces": ["kube-system"]}
    assert said.values["vpolExcludeByPolicy"] == {
        "disallow-host-path": {"excludeNamespaces": ["kube-system", "a", "b"]}
    }
    assert "policyExclude" not in said.values
    assert [str(each.location).rpartition("yaml:")[2] for each in said.left] == ["9:41"]


def test_the_form_of_policies(tmp_path: Path) -> None:
    newer = _policies("policyType: ValidatingPolicy\n")
    assert "policyType" not in _said(tmp_path, "", newer).values
    wanted = "    policyType: ClusterPolicy\n"
    assert _said(tmp_path, wanted, newer).values["policyType"] == "ClusterPolicy"
    assert "policyType" not in _said(tmp_path, wanted).values
    with pytest.raises(InputError, match="has no policies of type ValidatingPolicy") as caught:
        _said(tmp_path, "    policyType: ValidatingPolicy\n")
    assert str(caught.value.location) == f"{tmp_path}/chartkit.yaml:6:5"


def test_actions_of_namespaces_have_a_key_where_the_chart_has_one(tmp_path: Path) -> None:
    more = (
        "    actions: [{namespaces: [pay], action: Enforce}]\n"
        "    policies: {policy-1: {actions: [{namespaces: [old], action: Audit}]}}\n"
    )
    key = "validationFailureActionOverrides"
    said = _said(tmp_path, more, _policies(f"{key}: {{all: []}}\n", 2))
    assert said.values[key] == {
        "all": [{"action": "Enforce", "namespaces": ["pay"]}],
        "policy-1": [{"action": "Audit", "namespaces": ["old"]}],
    }
    left = _said(tmp_path, more, _policies("", 2))
    assert key not in left.values
    assert any(key in each.message for each in left.left)


def test_values_of_the_projects_own_go_over_those_of_the_engine(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("admissionController: {replicas: 5}\n")
    more = "    highAvailability: true\n    engineValues: [own.yaml]\n"
    said = _said(tmp_path, more, read_chart(chart(), "chart"))
    assert said.values["admissionController"] == {"replicas": 5}
    assert said.values["backgroundController"] == {"replicas": 2}
