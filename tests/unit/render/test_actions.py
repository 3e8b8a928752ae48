"""`actions` of namespaces in every form of a policy, proven by the engine."""

from pathlib import Path

import pytest

from chartkit.charts.policies import chart as policies_chart
from chartkit.charts.policies.values_schema import overrides
from chartkit.engine import ENFORCE
from chartkit.errors import InputError
from chartkit.model import Location, Resource, Status
from chartkit.project.project import read_project
from chartkit.project.settings import Action, NamespaceAction
from chartkit.render.environment import project_environment
from chartkit.render.pipeline import RenderOptions, render_project
from chartkit.scan.policies import compile_all
from chartkit.scan.run import ScanContext, run_scan
from tests.data import beside, from_table
from tests.errors import error_of
from tests.unit.render.test_pipeline import PROFILE

_TEXTS = beside(__file__)
TEXT = _TEXTS["text"]


def pod(namespace: str) -> Resource:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {
            "containers": [{"name": "a", "image": "nginx:latest"}],
            "volumes": [{"name": "a", "hostPath": {"path": "/"}}],
        },
    }
    return Resource(body)


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy", "both"]
)
def test_an_action_by_namespace_refuses_there_and_reports_elsewhere(
    tmp_path: Path, form: str
) -> None:
    (tmp_path / "small.yaml").write_text(PROFILE)
    (tmp_path / "chartkit.yaml").write_text(TEXT.replace("FORM", form))
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    assert not done.failed, done.rows
    expected = {
        ("prd", "pay-1"): {"disallow-latest-tag", "disallow-host-path"},
        ("prd", "old"): set(),
        ("prd", "shop"): {"disallow-latest-tag"},
        ("prd", "other"): set(),
        ("qa", "legacy"): set(),
        ("qa", "other"): {"disallow-latest-tag", "disallow-host-path"},
    }
    found = {each: refused(tmp_path, *each) for each in expected}
    assert found == expected


def refused(folder: Path, environment: str, namespace: str) -> set[str]:
    """Return the policies that refuse a violating Pod; the others report it, once in each form."""
    project = read_project(folder)
    resources = project_environment(project, project.environment(environment)).resources
    compiled = compile_all(list(resources)).policies
    by_id = {each.policy.id: each for each in compiled}
    names, failed = set(), set()

    def take(_: Resource, results: object) -> None:
        for each in results:  # type: ignore[attr-defined]
            if each.status is Status.FAIL:
                policy = by_id[each.policy_id]
                failed.add(each.policy.removesuffix("-audit").removesuffix("-enforce"))
                if policy.action(each.rule, namespace, {}) == ENFORCE:
                    names.add(each.policy.removesuffix("-enforce"))

    run_scan(compiled, [pod(namespace)], take, ScanContext({}))
    assert failed == {"disallow-latest-tag", "disallow-host-path"}
    return names


OWN = _TEXTS["own"]


@pytest.mark.slow
@from_table("own", "given", "expected")
def test_actions_by_namespace_reach_a_policy_of_kubernetes(
    tmp_path: Path, own: str, given: str, expected: dict[str, str]
) -> None:
    """Its bindings bind a second policy, with the condition that the namespace is one of these."""
    (tmp_path / "own" / "named").mkdir(parents=True)
    (tmp_path / "own" / "named" / "named.yaml").write_text(OWN.replace("OWN", own))
    (tmp_path / "small.yaml").write_text(PROFILE + "    named: {}\n")
    action = f"action: {given}, " if given else ""
    setting = f"named: {{{action}actions: [{{namespaces: [shop], action: Audit}}]}}"
    text = TEXT.replace("    policies:\n", f"    policies:\n      {setting}\n")
    (tmp_path / "chartkit.yaml").write_text(f"library: [own]\n{text.replace('FORM', 'both')}")
    project = read_project(tmp_path)
    done = render_project(project, RenderOptions(tuple(project.environments.values())))
    assert not done.failed, done.rows
    resources = project_environment(project, project.environment("prd")).resources
    named = [each for each in resources if each.name.startswith(("named", "binds"))]
    compiled = compile_all(named).policies
    for namespace, wanted in expected.items():
        failing: list[str] = []

        def take(_: Resource, results: object, failing: list[str] = failing) -> None:
            by_id = {each.policy.id: each for each in compiled}
            for each in results:  # type: ignore[attr-defined]
                if each.status is Status.FAIL:
                    failing.append(by_id[each.policy_id].action(each.rule, "", {}))

        run_scan(compiled, [pod(namespace)], take, ScanContext({}))
        assert failing == [wanted], namespace


def test_a_cluster_policy_cannot_hold_two_actions_for_one_namespace(tmp_path: Path) -> None:
    text = TEXT.replace("[old]", "[pay-old]")
    (tmp_path / "small.yaml").write_text(PROFILE)
    for form, refused in (("ClusterPolicy", True), ("ValidatingPolicy", False)):
        (tmp_path / "chartkit.yaml").write_text(text.replace("FORM", form))
        project = read_project(tmp_path)
        if not refused:
            policies_chart.plan(project)
            continue
        error = error_of(InputError, policies_chart.plan, project)
        assert "chartkit.yaml:9:9: 'pay-old' (Audit) is within 'pay-*' (Enforce)" in str(error)


def test_a_decided_namespace_is_not_named_again() -> None:
    place = Location("chartkit.yaml")

    def given(action: str, *names: str) -> NamespaceAction:
        return NamespaceAction(Action(action), names, None, place)

    actions = [given("Enforce", "a", "pay-1"), given("Audit", "pay-*"), given("Enforce", "b", "a")]
    assert overrides(actions) == [
        {"action": "Enforce", "namespaces": ["b", "a"]},
        {"action": "Audit", "namespaces": ["pay-*"]},
    ]
