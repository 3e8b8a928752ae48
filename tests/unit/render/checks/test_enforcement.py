"""Seven ways in which a project weakens a policy, each with a row that says so."""

from pathlib import Path

import pytest

from chartkit.project.project import read_project
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside, from_table
from tests.unit.render.test_pipeline import PROFILE, rows
from tests.unit.render.test_shipped_exceptions import LEGACY

_TEXTS = beside(__file__)

TEXT = _TEXTS["text"]
PROFILES = PROFILE + "    disallow-host-ports: {}\n"


def said(
    folder: Path, setting: str, engine: str = "engine: false", profile: str = PROFILES
) -> list[str]:
    (folder / "small.yaml").write_text(profile)
    text = TEXT.replace("ENGINE", engine).replace("SETTING", setting)
    library = "library: [own]\n" if (folder / "own").is_dir() else ""
    (folder / "chartkit.yaml").write_text(library + text)
    project = read_project(folder)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    assert not done.failed, done.rows
    return [each.message for each in (*rows(done, "enforcement"), *rows(done, "exceptions"))]


@from_table("setting", "expected")
def test_each_way_has_a_row(tmp_path: Path, setting: str, expected: str) -> None:
    assert expected in said(tmp_path, setting)


def test_nothing_is_said_of_nothing(tmp_path: Path) -> None:
    assert said(tmp_path, "policyType: ValidatingPolicy") == []


def test_an_exception_has_a_row(tmp_path: Path) -> None:
    (tmp_path / "exception.yaml").write_text(LEGACY)
    found = said(tmp_path, "exceptions: [exception.yaml]")
    assert found[0].startswith("exception agent exempts objects from disallow-host-path, ")


@pytest.mark.slow
def test_a_filter_of_the_engine_has_a_row_at_its_line(tmp_path: Path) -> None:
    filters = (
        'config:\n  resourceFiltersInclude: ["[Pod,shop,*]"]\n  webhooks:\n    namespaceSelector:\n'
    )
    selector = "      matchLabels: {policies: 'on'}\n"
    (tmp_path / "engine.yaml").write_text(filters + selector)
    found = said(tmp_path, "highAvailability: false", "engineValues: [engine.yaml]")
    assert "Kyverno is not sent everything: config.resourceFiltersInclude has [Pod,shop,*]" in found
    assert "Kyverno is not sent everything: config.webhooks" in found


@pytest.mark.slow
def test_an_edit_of_the_values_has_a_row_too(tmp_path: Path) -> None:
    said(tmp_path, "policyType: ValidatingPolicy")
    file = tmp_path / "charts/kyverno-policies/values_qa.yaml"
    edited = file.read_text().replace("Failure" + "Action: Enforce", "FailureAction: Audit")
    file.write_text(edited + "failurePolicy: Ignore\n")
    found = said(tmp_path, "policyType: ValidatingPolicy")
    assert "policies only report (Audit), where qa says Enforce" in found
    assert "requests pass where Kyverno does not answer: failurePolicy Ignore" in found


METADATA = _TEXTS["metadata"]
WITHOUT_CEL = _TEXTS["without-cel"]


@pytest.mark.parametrize("form", ["ValidatingPolicy", "ValidatingAdmissionPolicy"])
def test_a_policy_without_the_form_that_is_asked_for_has_a_row(tmp_path: Path, form: str) -> None:
    _write_without_cel(tmp_path)
    found = said(tmp_path, f"policyType: {form}", profile=PROFILES + "    without-cel: {}\n")
    assert "1 policy comes as ClusterPolicy, without a form in CEL: without-cel" in found


@pytest.mark.parametrize("form", ["ClusterPolicy", "both"])
def test_a_policy_in_the_form_that_is_asked_for_has_no_row(tmp_path: Path, form: str) -> None:
    _write_without_cel(tmp_path)
    assert said(tmp_path, f"policyType: {form}", profile=PROFILES + "    without-cel: {}\n") == []


def _write_without_cel(folder: Path) -> None:
    policy = folder / "own" / "without-cel"
    policy.mkdir(parents=True)
    (policy / "metadata.yaml").write_text(METADATA)
    (policy / "policy.yaml").write_text(WITHOUT_CEL)
    example = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {KEY: x}\n"
    (policy / "good.yaml").write_text(example.replace("KEY", "host"))
    (policy / "bad.yaml").write_text(example.replace("KEY", "password"))


POLICY = _TEXTS["policy"]
BINDING = _TEXTS["binding"]
REACHES = "actions of namespaces do not reach of-kubernetes: its bindings are elsewhere"


@pytest.mark.parametrize("binding", [BINDING, ""])
def test_actions_reach_a_policy_of_kubernetes_through_its_bindings(
    tmp_path: Path, binding: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "of-kubernetes.yaml").write_text(POLICY + binding)
    setting = "actions: [{namespaces: [old], action: Audit}]"
    found = said(tmp_path, setting, "engine: false", PROFILES + "    of-kubernetes: {}\n")
    assert (REACHES in found) is (binding == "")
