"""What a release stores: sets of two managers, definitions, ownership, fields and roles."""

from base64 import b64decode, b64encode
from gzip import compress, decompress

import pytest

from chartkit.addons.operate.install.releases import keep_definitions
from chartkit.addons.operate.install.verify import Difference, StoredObjects, without_others
from chartkit.documents.reader import read_text
from chartkit.helm.render import render_chart
from chartkit.model import Body, Json, Resource
from chartkit.network.cluster.client import connect
from chartkit.network.cluster.source import ReleaseError
from tests.addons.operate.install.conftest import World
from tests.api_server import ApiServer
from tests.api_server_http import Refused, Request
from tests.data import from_table
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


@pytest.mark.slow
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


@from_table("wanted", "stored", "same")
def test_fields_are_compared_as_an_api_server_stores_them(
    server: ApiServer, wanted: Json, stored: Json, same: bool
) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    server.put("/api/v1/namespaces/x", {**body, "spec": stored, "kind": "Namespace"})
    found = StoredObjects(connect(None)).differences([Resource({**body, "spec": wanted})])
    assert (found == []) is same
    assert all(isinstance(one, Difference) and one.path[0] == "spec" for one in found)


RECORD = "/api/v1/namespaces/kyverno/secrets/sh.helm.release.v1.kyverno.v1"


@pytest.mark.slow
def test_definitions_are_marked_and_nothing_else(world: World) -> None:
    world.done()
    assert keep_definitions(connect(None), "kyverno", "kyverno", 1) == 1
    stored = decompress(b64decode(b64decode(world.server.objects[RECORD]["data"]["release"])))
    manifest = read_text(read_text(stored.decode())[0].body["manifest"])
    bodies = {document.body["kind"]: document.body for document in manifest}
    kept = bodies["CustomResourceDefinition"]["metadata"].pop("annotations")
    assert kept == {"helm.sh/resource-policy": "keep"}
    rendered = render_chart(world.project / "charts/kyverno", [{"action": "Audit"}])
    assert list(bodies.values()) == [each.body for each in rendered.resources]
    assert world.statuses("kyverno") == ["deployed"]


@pytest.mark.usefixtures("server")
def test_a_release_that_is_not_there() -> None:
    assert keep_definitions(connect(None), "kyverno", "kyverno", 7) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [b"", b"not packed", compress(b"no JSON"), compress(b'{"manifest": 1}'), compress(b"[]")],
    # What is packed holds the time, and names must be the same everywhere.
    ids=["empty", "not-packed", "no-json", "number", "list"],
)
def test_a_record_that_cannot_be_read(world: World, content: bytes) -> None:
    world.done()
    record = dict(world.server.objects[RECORD])
    data = {"release": b64encode(b64encode(content)).decode()}
    world.server.put(RECORD, {**record, "data": data})
    with pytest.raises(ReleaseError, match=r"record sh.helm.release.v1.kyverno.v1 cannot be read"):
        keep_definitions(connect(None), "kyverno", "kyverno", 1)
    assert world.server.objects[RECORD]["data"] == data


_LEAF: Body = {}


def _entry(manager: str, operation: str, fields: Json, **more: str) -> Body:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def _spec(*names: str) -> Body:
    return {"f:spec": {".": _LEAF, **{f"f:{name}": _LEAF for name in names}}}


def _kept(*entries: Body) -> list[Body] | None:
    return without_others({"metadata": {"managedFields": list(entries)}})


_HELM = _entry("helm", "Apply", {"f:spec": {"f:rules": _LEAF, "f:background": _LEAF}})


def test_shared_fields_are_the_releases_alone() -> None:
    assert _kept(_HELM, _entry("kubectl-create", "Update", _spec("rules", "background"))) == [_HELM]


def test_fields_that_the_release_has_not_stay() -> None:
    other = _entry("controller", "Update", _spec("rules", "extra"))
    assert _kept(_HELM, other) == [_HELM, _entry("controller", "Update", _spec("extra"))]


def test_what_helm_merged_by_another_request_is_no_apply() -> None:
    assert _kept(_HELM, _entry("helm", "Update", _spec("rules"))) == [_HELM]


def test_status_belongs_to_the_controller() -> None:
    status = _entry("kyverno", "Update", _spec("rules"), subresource="status")
    assert _kept(_HELM, status) is None


def test_an_object_without_applied_fields_is_left() -> None:
    assert _kept(_entry("helm", "Update", _spec("rules"))) is None
    assert without_others({"metadata": {}}) is None


@pytest.mark.parametrize("items", ['v:"Audit"', 'k:{"name":"a"}'])
def test_items_of_lists_are_taken_one_by_one(items: str) -> None:
    own = _entry("helm", "Apply", {"f:spec": {"f:list": {items: _LEAF}}})
    other = _entry("kubectl", "Apply", {"f:spec": {"f:list": {items: _LEAF, 'v:"Deny"': _LEAF}}})
    left = _entry("kubectl", "Apply", {"f:spec": {"f:list": {'v:"Deny"': _LEAF}}})
    assert _kept(own, other) == [own, left]


@pytest.mark.parametrize("fields", [None, 1, "x", [], {"f:spec": None}, {"f:spec": [1]}])
def test_odd_entries_break_nothing(fields: Json) -> None:
    assert _kept(_HELM, _entry("odd", "Update", fields)) in ([_HELM], None)


@pytest.mark.slow
def test_objects_of_others_are_taken_over_on_request(world: World) -> None:
    write_project(world.project, policies=[_binding("Deny")])
    world.server.put(_PATH, _binding("Audit"))
    code, out, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "invalid ownership metadata" in out + err
    world.done("--take-ownership")
    stored = world.server.objects[_PATH]
    assert stored["spec"]["validationActions"] == ["Deny"]
    assert stored["metadata"]["annotations"]["meta.helm.sh/release-name"] == "kyverno-policies"
    world.done()


NAME = "kyverno:admission-controller"
_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def _role(**fields: Body) -> Body:
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**body, "metadata": {"name": NAME}, "aggregationRule": {}, **fields}


@pytest.fixture
def aggregated(world: World) -> World:
    """An engine with a role that the aggregator writes once more, twice, after its deletion."""
    write_project(world.project, extra=[_role()])
    controllers, left = world.server.written, 2

    def written(server: ApiServer, path: str, body: Body | None) -> None:
        nonlocal left
        controllers(server, path, body)
        if body is None and path == f"{_ROLES}/{NAME}" and left:
            left -= 1
            server.put(path, {**_role(), "rules": None})

    world.server.written = written
    return world


@pytest.mark.slow
def test_uninstall_waits_for_the_aggregator(aggregated: World) -> None:
    aggregated.done()
    code, out, err = aggregated.run("uninstall", "--yes", "--timeout", "60")
    assert (code, err) == (0, ""), out + err
    said = f"ClusterRole {NAME} was left, without an owner: it is deleted"
    assert out.count(said) == 2
    assert aggregated.server.names("ClusterRole") == set()
    assert aggregated.done()


@pytest.mark.slow
def test_install_removes_what_a_removal_by_hand_left(world: World) -> None:
    write_project(world.project, extra=[_role()])
    world.server.put(f"{_ROLES}/{NAME}", {**_role(), "rules": None})
    said = f"ClusterRole {NAME} has no owner, an earlier removal left it: it is deleted"
    code, out, _ = world.install()
    assert code == 0
    assert f"note: {said} first\n" in out
    assert world.server.names("ClusterRole") == {NAME}
    assert said in world.done()
    assert world.server.objects[f"{_ROLES}/{NAME}"]["metadata"]["annotations"]
    assert said not in world.done()


def test_a_role_with_rules_is_left_alone(world: World) -> None:
    body = _role()
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    world.server.put(f"{_ROLES}/{NAME}", {**body, "rules": rules})
    assert world.run("uninstall", "--yes")[1].endswith("nothing is to be done\n")
    assert world.server.names("ClusterRole") == {NAME}


@pytest.mark.slow
def test_uninstall_again_removes_what_is_left(world: World) -> None:
    world.server.put(f"{_ROLES}/{NAME}", {**_role(), "rules": None})
    code, out, _ = world.run("uninstall")
    assert code == 0
    assert f"ClusterRole {NAME}, left by an earlier removal: remove" in out
    assert world.run("uninstall", "--yes")[0] == 0
    assert world.server.names("ClusterRole") == set()
