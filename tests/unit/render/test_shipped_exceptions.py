"""`exceptions` of chartkit.yaml, in the kind that fits each policy's form, proven by the engine."""

from pathlib import Path

import pytest
import yaml

from chartkit.errors import InputError
from chartkit.project.project import read_project
from chartkit.render.model import RenderResult
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside
from tests.errors import error_of
from tests.unit.render.test_pipeline import PROFILE, rows

_TEXTS = beside(__file__)

TEXT = _TEXTS["text"]
LEGACY = _TEXTS["legacy"]
IN_CEL = _TEXTS["in-cel"]
POD = _TEXTS["pod"]


def render(folder: Path, form: str, exception: str, text: str = TEXT) -> RenderResult:
    (folder / "small.yaml").write_text(PROFILE)
    (folder / "pod.yaml").write_text(POD.replace("NAME", "agent-1"))
    (folder / "exceptions").mkdir()
    (folder / "exceptions" / "agent.yaml").write_text(exception)
    (folder / "chartkit.yaml").write_text(text.replace("FORM", form))
    project = read_project(folder)
    return render_project(project, RenderOptions(tuple(project.environments.values())))


def installed(folder: Path, environment: str = "prd") -> list[dict[str, object]]:
    text = (folder / f"rendered/{environment}/kyverno-policies.yaml").read_text()
    return [each for each in yaml.safe_load_all(text) if each["kind"] == "PolicyException"]


@pytest.mark.parametrize(
    ("form", "exception", "groups"),
    [
        ("ClusterPolicy", LEGACY, ["kyverno.io/v2"]),
        ("ValidatingPolicy", LEGACY, ["policies.kyverno.io/v1"] * 2),
        ("both", LEGACY, ["kyverno.io/v2", "policies.kyverno.io/v1", "policies.kyverno.io/v1"]),
        ("ValidatingPolicy", IN_CEL, ["policies.kyverno.io/v1"]),
    ],
)
def test_an_exception_lets_the_object_off_in_every_form(
    tmp_path: Path, form: str, exception: str, groups: list[str]
) -> None:
    done = render(tmp_path, form, exception)
    assert not done.failed, done.rows
    (workloads,) = rows(done, "workloads")
    assert workloads.message.endswith("1 object, no violation")
    found = installed(tmp_path)
    assert [each["apiVersion"] for each in found] == groups
    assert {each["metadata"]["namespace"] for each in found} == {"kyverno"}  # type: ignore[index]


def test_another_object_is_still_refused(tmp_path: Path) -> None:
    text = TEXT.replace("pod.yaml", "other.yaml")
    (tmp_path / "other.yaml").write_text(POD.replace("NAME", "web"))
    done = render(tmp_path, "ValidatingPolicy", LEGACY, text)
    assert len([each for each in rows(done, "workloads") if each.outcome == "fail"]) == 2


def test_every_object_of_a_policy_in_cel_is_named(tmp_path: Path) -> None:
    text = TEXT.replace(
        "exceptions: [", "actions: [{namespaces: [a], action: Audit}], exceptions: ["
    )
    render(tmp_path, "ValidatingPolicy", IN_CEL, text)
    manifest = (tmp_path / "rendered/prd/kyverno-policies.yaml").read_text()
    names = {
        each["metadata"]["name"]
        for each in yaml.safe_load_all(manifest)
        if each["kind"] == "ValidatingPolicy"
    }
    (exception,) = installed(tmp_path)
    assert {each["name"] for each in exception["spec"]["policyRefs"]} == names  # type: ignore[index]
    assert "disallow-latest-tag-audit-ephemeral" in names


def test_a_policy_of_kubernetes_own_has_no_exceptions(tmp_path: Path) -> None:
    done = render(tmp_path, "ValidatingAdmissionPolicy", LEGACY)
    found = rows(done, "exceptions")
    assert [each.outcome for each in found] == ["warning", "warning"]
    assert "knows no exceptions" in found[0].message
    assert str(found[0].location) == f"{tmp_path}/exceptions/agent.yaml:1"


def test_one_in_cel_does_not_become_one_of_a_cluster_policy(tmp_path: Path) -> None:
    done = render(tmp_path, "ClusterPolicy", IN_CEL)
    found = rows(done, "exceptions")
    assert [each.outcome for each in found] == ["fail", "fail"]
    assert "is for policies in CEL" in found[0].message


def test_an_unknown_policy_is_named_with_what_was_perhaps_meant(tmp_path: Path) -> None:
    exception = LEGACY.replace("disallow-latest-tag", "disallow-latest-tags")
    done = render(tmp_path, "ClusterPolicy", exception)
    (found,) = [each for each in rows(done, "exceptions") if each.outcome == "warning"]
    assert "exempts from policy 'disallow-latest-tags'" in found.message
    assert found.hint == "did you mean 'disallow-latest-tag'?"


@pytest.mark.slow
def test_the_engine_reads_exceptions_where_there_are_some(tmp_path: Path) -> None:
    text = TEXT.replace(", engine: false", "")
    done = render(tmp_path, "ValidatingPolicy", LEGACY, text)
    assert not done.failed, done.rows
    values = yaml.safe_load((tmp_path / "charts/kyverno/values_prd.yaml").read_text())
    assert values["features"]["policyExceptions"] == {"enabled": True, "namespace": "kyverno"}
    (tmp_path / "off.yaml").write_text("features: {policyExceptions: {namespace: other}}\n")
    text = text.replace("{action", "{engineValues: [off.yaml], action")
    (tmp_path / "chartkit.yaml").write_text(text.replace("FORM", "ValidatingPolicy"))
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    (failed,) = [each for each in rows(done, "exceptions") if each.outcome == "fail"]
    assert failed.message == "Kyverno does not read exceptions in namespace kyverno"
    assert [each.outcome for each in rows(done, "workloads")] == ["fail", "fail"]


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "has no PolicyException"),
        (LEGACY.replace("match:", "matches:"), "Kyverno refuses the exception"),
    ],
)
def test_a_file_without_a_valid_exception_is_refused(
    tmp_path: Path, exception: str, message: str
) -> None:
    assert message in str(error_of(InputError, render, tmp_path, "ClusterPolicy", exception))
