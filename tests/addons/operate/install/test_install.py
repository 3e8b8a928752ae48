from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.addons.operate.install.conftest import World, set_status
from tests.api_server_http import Refused, Request
from tests.data import tables
from tests.small_charts import POLICY_NAMES, write_project


def test_install_without_yes_nothing_is_done(world: World) -> None:
    code, out, _ = world.install()
    assert code == 0
    assert "kyverno: not there → 3.9.0: install\n  objects: 2 added\n" in out
    assert out.endswith("nothing was done: --yes does it\n")
    assert world.server.objects == {}


@pytest.mark.slow
def test_engine_then_policies_and_again(world: World) -> None:
    out = world.done()
    lines = tables(__file__)["lines"]
    assert [line for line in out.splitlines() if line in lines] == lines
    assert world.server.names("ClusterPolicy") == set(POLICY_NAMES)
    before = len(world.server.events)
    again = world.done()
    assert "kyverno: 3.9.0, deployed (revision 1), as it should be" in again
    assert len(world.server.events) == before
    assert world.install()[1].endswith("nothing is to be done\n")


@pytest.mark.slow
def test_an_upgrade_shows_what_changes(world: World) -> None:
    world.done()
    write_project(world.project, "3.9.1")
    values = world.project / "charts/kyverno-policies/values_prd.yaml"
    values.write_text("action: Enforce\n")
    code, out, _ = world.install()
    assert code == 0
    assert "kyverno: 3.9.0, deployed (revision 1) → 3.9.1: upgrade\n" in out
    assert "  objects: 2 changed\n  high risk: ClusterPolicy first changed: refuses what" in out
    world.done()
    assert world.statuses("kyverno-policies") == ["superseded", "deployed"]
    policy = world.server.objects["/apis/kyverno.io/v1/clusterpolicies/first"]
    assert policy["spec"]["rules"][0]["validate"]["failureAction"] == "Enforce"


@pytest.mark.slow
def test_values_that_only_hooks_read_are_upgraded_too(world: World) -> None:
    world.done()
    (world.project / "charts/kyverno/values_prd.yaml").write_text("action: Audit\nmore: 1\n")
    assert "kyverno: 3.9.0, deployed (revision 1) → 3.9.0: upgrade\n  values" in world.install()[1]


@pytest.mark.parametrize(
    ("version", "reason"),
    [("v1.36.0", "Kubernetes 1.36 is above what Kyverno 1.19"), ("v1.20.5-eks-1", "1.20 is below")],
)
def test_an_unsupported_pair_is_refused(world: World, version: str, reason: str) -> None:
    world.server.version = version
    code, out, _ = world.install("--yes")
    assert code == 1
    assert reason in out.splitlines()[-1]
    assert world.server.objects == {}


def test_an_accepted_pair_is_installed_with_a_note(world: World) -> None:
    world.server.version = "v1.36.0"
    file = world.project / "chartkit.yaml"
    accepted = '"1.36"\n    compatibility: {accept: tried in qa}'
    text = file.read_text().replace("'1.34'", '"1.34"')
    file.write_text(text.replace('"1.34"', accepted, 1))
    code, out, _ = world.install()
    assert code == 0, out
    assert "note: Kubernetes 1.36 is above what Kyverno 1.19 supports" in out
    assert "; accepted: tried in qa" in out


def test_another_version_than_chartkit_yaml_says_is_noted(world: World) -> None:
    world.server.version = "v1.35.2-eks-1"
    code, out, _ = world.install()
    assert code == 0
    assert "note: chartkit.yaml says Kubernetes 1.34 for prd: the charts were not" in out


@pytest.mark.slow
def test_a_newer_kyverno_is_not_put_back(world: World) -> None:
    chart = world.project / "charts/kyverno/Chart.yaml"
    chart.write_text(chart.read_text().replace("v1.19.0", "v1.18.9"))
    world.done()
    chart.write_text(chart.read_text().replace("v1.18.9", "v1.17.0"))
    code, out, _ = world.install("--yes")
    assert code == 1
    assert "refused: Kyverno 1.18 runs here, and the way back to 1.17 is not supported" in out


def test_a_chart_of_another_version_is_judged_too(world: World) -> None:
    chart = world.project / "charts/kyverno/Chart.yaml"
    chart.write_text(chart.read_text().replace("v1.19.0", "v1.12.0"))
    code, out, _ = world.install("--yes")
    assert code == 1
    assert "Kubernetes 1.34 is above what Kyverno 1.12 supports" in out
    chart.write_text(chart.read_text().replace("v1.12.0", "of-our-own"))
    assert "refused" not in world.install()[1]


@pytest.mark.slow
def test_skipped_versions_are_noted(world: World) -> None:
    chart = world.project / "charts/kyverno/Chart.yaml"
    chart.write_text(chart.read_text().replace("v1.19.0", "v1.17.3"))
    world.done()
    write_project(world.project)
    assert "`chartkit plan --from 1.17/1.34 --to 1.19/1.34`" in world.install()[1]


@pytest.mark.slow
def test_charts_that_drifted_are_refused(world: World) -> None:
    code, out, _ = world.run("install")
    assert code == 1
    assert "differs from chartkit.yaml (run `chartkit render`)" in out


def test_charts_that_are_not_there(world: World) -> None:
    (world.project / "charts/kyverno/values_prd.yaml").unlink()
    code, out, err = world.install()
    assert (code, out) == (2, "")
    assert "there is no such values file (`chartkit render` writes the charts)" in err


@pytest.mark.slow
def test_controllers_that_do_not_come_up(world: World) -> None:
    world.controllers.replicas = False
    code, out, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "the policies" not in out
    assert err.splitlines() == [
        "controllers are not ready after 60 s: kyverno-admission-controller has 0 of 1 replicas",
        "stands: kyverno: 3.9.0, deployed (revision 1)",
        "stands: kyverno-policies: not there",
        f"go on with: chartkit install prd --allow-drift --project {world.project} --timeout 60 "
        "--yes",
    ]
    world.controllers.replicas = True
    path = "/apis/apps/v1/namespaces/kyverno/deployments/kyverno-admission-controller"
    world.controllers.written(world.server, path, world.server.objects[path])
    assert "the policies are ready" in world.done()


@pytest.mark.slow
def test_webhooks_that_do_not_answer(world: World) -> None:
    def refuse(request: Request) -> None:
        if "/clusterpolicies" in request.path and request.query.get("dryRun"):
            raise Refused(500, "InternalError", "failed calling webhook")

    world.server.admit = refuse
    code, _, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "webhooks do not answer after 60 s: a policy that is tried is answered 500" in err
    assert "first" not in world.server.names("ClusterPolicy")


@pytest.mark.slow
def test_an_api_server_that_is_away_for_a_while(world: World) -> None:
    failed = 0

    def away(request: Request) -> None:
        nonlocal failed
        if request.path.endswith("/deployments") and failed < 2:
            failed += 1
            raise Refused(503, "ServiceUnavailable", "starting")

    world.server.before = away
    world.done()
    assert failed == 2


@pytest.mark.slow
def test_policies_that_do_not_become_ready(world: World) -> None:
    world.controllers.ready = False
    code, _, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "policies are not ready after 60 s: ClusterPolicy first, ClusterPolicy second" in err
    assert "stands: kyverno-policies: 3.9.0, deployed (revision 1)" in err


@pytest.mark.slow
def test_a_server_that_fails_in_the_middle(world: World) -> None:
    def fail(request: Request) -> None:
        if request.method == "PATCH" and "/deployments/" in request.path:
            raise Refused(500, "InternalError", "the disk is full")

    world.server.before = fail
    code, _, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert "Helm: " in err
    assert "the disk is full" in err
    assert "stands: kyverno: 3.9.0, failed (revision 1)" in err
    world.server.before = lambda _: None
    assert "kyverno: upgrading to 3.9.0" in world.done()


@pytest.mark.slow
@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "uninstalling"])
def test_an_unfinished_release_is_repaired(world: World, status: str) -> None:
    world.done()
    if status == "pending-upgrade":
        write_project(world.project, "3.9.1")
        world.done()
    set_status(world, "kyverno-policies", status)
    assert f"{status} (revision" in world.install()[1]
    out = world.done("--stale-after", "0")
    assert "cut short" in out
    assert "the policies are ready" in out
    assert world.statuses("kyverno-policies")[-1] == "deployed"
    assert world.server.names("ClusterPolicy") == set(POLICY_NAMES)


@pytest.mark.slow
def test_an_operation_under_way_is_waited_for(world: World) -> None:
    world.done()
    set_status(world, "kyverno", "pending-upgrade")
    asked = 0

    def settle(request: Request) -> None:
        nonlocal asked
        asked += "/secrets" in request.path
        if asked == 6:
            set_status(world, "kyverno", "deployed")

    world.server.before = settle
    out = world.done("--stale-after", "7200")
    assert "kyverno: pending-upgrade, perhaps still under way: waiting" in out
    assert "record is removed" not in out


@pytest.mark.slow
def test_another_programs_operation_is_left_alone(world: World) -> None:
    world.done()
    set_status(world, "kyverno", "pending-upgrade")
    for path, body in list(world.server.objects.items()):
        if "release.v1.kyverno.v1" in path:
            labels = {k: v for k, v in body["metadata"]["labels"].items() if k != "chartkit"}
            world.server.put(path, {**body, "metadata": {**body["metadata"], "labels": labels}})
    code, _, err = world.install("--yes", "--stale-after", "0")
    assert code == 1
    assert "another program is at work on release 'kyverno' (pending-upgrade)" in err


@pytest.mark.slow
def test_an_environment_without_an_engine(world: World) -> None:
    bare = replace(world, environment="bare")
    code, _, err = bare.install("--yes", "--timeout", "60")
    assert code == 1
    assert "kinds of Kyverno's are not there after 60 s: ClusterPolicy.kyverno.io" in err
    world.done()
    out = bare.done()
    assert "kyverno: " not in out
    assert "the kinds of policies are there\nthe webhooks answer\n" in out


@pytest.mark.slow
@pytest.mark.parametrize("through", ["library", "program"])
def test_fields_that_another_program_wrote_are_taken_over_where_asked(
    world: World, through: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if through == "program":
        program = request.getfixturevalue("helm_program")
        monkeypatch.setenv("CHARTKIT_HELM", program)
    world.done()
    policies = world.server.admit
    said = 'Apply failed with 1 conflict: conflict with "helm": .spec.background'

    def conflict(given: Request) -> None:
        is_applied = given.method == "PATCH" and "/clusterpolicies/" in given.path
        if is_applied and given.query.get("force") != "true":
            raise Refused(409, "Conflict", said)
        policies(given)

    world.server.admit = conflict
    (world.project / "charts/kyverno-policies/values_prd.yaml").write_text("action: Enforce\n")
    code, _, err = world.install("--yes", "--timeout", "60")
    assert code == 1
    assert said in err
    assert "(use --force-conflicts to take over fields that others wrote)" in err
    assert "the policies are ready" in world.done("--force-conflicts")
    assert world.statuses("kyverno-policies")[-1] == "deployed"


_LATE = (
    'failed calling webhook "validate-policy.kyverno.svc": failed to call webhook: Post '
    '"https://kyverno-svc.kyverno.svc:443/policyvalidate?timeout=10s": context deadline exceeded'
)


@pytest.mark.slow
@pytest.mark.parametrize(("times", "said", "code"), [(1, _LATE, 0), (99, _LATE, 1), (1, "no", 1)])
def test_policies_that_kyverno_is_too_late_for_are_written_again(
    world: World, times: int, said: str, code: int
) -> None:
    others, left = world.server.admit, times

    def late(given: Request) -> None:
        nonlocal left
        others(given)
        is_written = given.method in ("PATCH", "POST") and not given.query.get("dryRun")
        if left and is_written and "/clusterpolicies/second" in given.path:
            left -= 1
            raise Refused(500, "InternalError", said)

    world.server.admit = late
    found, out, err = world.install("--yes", "--timeout", "60")
    assert found == code, out + err
    again = out.count("Kyverno did not evaluate all policies in time: they are written again")
    assert again == (0 if said == "no" else min(times, 4))
    assert ("the policies are ready" in out) is (code == 0)
    assert (said in err) is (code == 1)


def test_objects_that_are_refused_for_one_reason_are_one_line() -> None:
    from chartkit.addons.operate.install.releases import failure

    one = "server-side apply failed for object /{} kyverno.io/v1, Kind=ClusterPolicy: late"
    text = " ".join(one.format(name) for name in "abc")
    assert failure(text).message == f"Helm: {one.format('a')} (and 2 more objects)"
    assert failure(one.format("a")).message == f"Helm: {one.format('a')}"


@pytest.mark.slow
def test_time_of_a_release_is_read(world: World) -> None:
    from chartkit.addons.operate.install.releases import Releases
    from chartkit.charts.engine.chart import NAMESPACE
    from chartkit.network.cluster.client import connect

    world.done()
    found = Releases(connect(None), NAMESPACE, 10).read("kyverno")
    assert found is not None
    assert found.marked
    assert datetime.now(UTC) - found.since < timedelta(minutes=5)


def test_a_plan_says_what_helm_warns_of(world: World) -> None:
    schema = world.project / "charts" / "kyverno-policies" / "values.schema.json"
    schema.write_text('{"$ref": "urn:example:a"}')
    code, out, _ = world.install()
    (note,) = (line for line in out.splitlines() if "urn:example:a" in line)
    assert code == 0
    assert note.startswith("note: ")
