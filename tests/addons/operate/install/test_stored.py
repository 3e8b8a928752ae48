"""What is stored next to what was wanted: sets of two managers, other edits, failed runs."""

import pytest

from chartkit.addons.operate.install.verify import Difference, StoredObjects
from chartkit.model import Body, Json, Resource
from chartkit.network.cluster.client import connect
from tests.addons.operate.install.conftest import World
from tests.api_server import ApiServer
from tests.api_server_http import Refused, Request
from tests.small_charts import write_project

_PATH = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/bound"


def _binding(action: str) -> Body:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "bound"},
        "spec": {"policyName": "first", "validationActions": [action]},
    }


def _actions(world: World) -> list[str]:
    actions: list[str] = world.server.objects[_PATH]["spec"]["validationActions"]
    return actions


@pytest.mark.slow
def test_what_another_manager_wrote_is_told_and_taken_over(world: World) -> None:
    write_project(world.project, policies=[_binding("Audit")])
    world.done()
    assert _actions(world) == ["Audit"]
    world.server.applied[_PATH]["another"] = _binding("Deny")
    write_project(world.project, "3.9.1", policies=[_binding("Audit")])
    code, out, err = world.install("--yes", "--timeout", "60")
    assert _actions(world) == ["Audit", "Deny"]
    assert code == 1
    said = (
        "ValidatingAdmissionPolicyBinding bound: spec.validationActions is "
        '["Audit", "Deny"], and should be ["Audit"]'
    )
    assert f"stored otherwise: {said}" in out
    assert said in err
    assert "use --force-conflicts to take it over" in err
    out = world.done("--force-conflicts")
    assert f"written again: {said}" in out
    assert _actions(world) == ["Audit"]
    assert "stored otherwise" not in world.done()


def test_an_object_that_decides_nothing_is_a_line(world: World) -> None:
    world.done()
    path = "/apis/apps/v1/namespaces/kyverno/deployments/kyverno-admission-controller"
    body = world.server.objects[path]
    template = {**body["spec"]["template"], "spec": {"containers": []}}
    world.server.put(path, {**body, "spec": {**body["spec"], "template": template}})
    code, out, _ = world.install("--yes", "--timeout", "60")
    place = "Deployment kyverno-admission-controller: spec.template.spec.containers is []"
    assert code == 0
    assert f"stored otherwise: {place}" in out


def test_a_policy_that_was_deleted_is_told(world: World) -> None:
    write_project(world.project, policies=[_binding("Audit")])
    world.done()
    world.server.put(_PATH, None)
    code, out, _ = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "stored otherwise: ValidatingAdmissionPolicyBinding bound is not there" in out


def test_a_failed_upgrade_is_compared_with_what_was_deployed(world: World) -> None:
    world.done()
    write_project(world.project, "3.9.1")
    (world.project / "charts/kyverno-policies/values_prd.yaml").write_text("action: Enforce\n")
    others = world.server.admit

    def conflict(given: Request) -> None:
        if given.method == "PATCH" and "/clusterpolicies/" in given.path:
            raise Refused(409, "Conflict", 'conflict with "kubectl": .spec.rules')
        others(given)

    world.server.admit = conflict
    assert world.install("--yes", "--timeout", "60")[0] == 1
    world.server.admit = others
    assert world.statuses("kyverno-policies") == ["deployed", "failed"]
    plan = world.install()[1]
    assert "kyverno-policies: 3.9.1, failed (revision 2)" in plan
    assert "objects: 2 changed" in plan
    assert "high risk: ClusterPolicy first changed" in plan


_CASES: tuple[tuple[Json, Json, bool], ...] = (
    ({"a": 1}, {"a": 1, "b": 2}, True),
    ({"a": None, "b": [], "c": {}, "d": False}, {}, True),
    ({"cpu": "1000m"}, {"cpu": "1"}, True),
    ({"cpu": "1000m"}, {"cpu": "2"}, False),
    ({"names": ["a", "b"]}, {"names": ["b", "a"]}, True),
    ({"names": ["a"]}, {"names": ["a", "b"]}, False),
    ({"names": ["a", "b"]}, {"names": ["a", "c"]}, False),
    ({"items": [{"name": "a"}]}, {"items": [{"name": "a", "added": 1}]}, True),
    ({"items": [{"name": "a"}]}, {"items": [{"name": "b"}]}, False),
    ({"enabled": True}, {}, False),
    ({"enabled": True}, {"enabled": False}, False),
    ({"text": "x"}, {"text": {"x": 1}}, False),
)


@pytest.mark.parametrize(("wanted", "stored", "same"), _CASES)
def test_fields_are_compared_as_an_api_server_stores_them(
    server: ApiServer, wanted: Json, stored: Json, same: bool
) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    server.put("/api/v1/namespaces/x", {**body, "spec": stored, "kind": "Namespace"})
    found = StoredObjects(connect(None)).differences([Resource({**body, "spec": wanted})])
    assert (found == []) is same
    assert all(isinstance(one, Difference) and one.path[0] == "spec" for one in found)
