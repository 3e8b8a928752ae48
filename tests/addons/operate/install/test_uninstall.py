from dataclasses import replace

import pytest

from tests.addons.operate.install.conftest import World, set_status
from tests.api_server_controllers import write_webhooks
from tests.api_server_http import Refused, Request

pytestmark = pytest.mark.slow

HOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
POD = "/api/v1/namespaces/kyverno/pods/kyverno-admission-controller"


def webhooks(world: World) -> set[str]:
    return {name for kind in HOOKS for name in world.server.names(kind)}


def removed(world: World, *arguments: str) -> str:
    code, out, err = world.run("uninstall", "--yes", "--timeout", "60", *arguments)
    assert (code, err) == (0, ""), out + err
    assert webhooks(world) == set()
    assert world.server.names("Deployment") == set()
    return out


def test_uninstall_without_yes_nothing_is_done(world: World) -> None:
    world.done()
    before = len(world.server.events)
    code, out, _ = world.run("uninstall")
    assert code == 0
    assert out.splitlines()[2:] == [
        "kyverno-policies: 3.9.0, deployed (revision 1): remove",
        "kyverno: 3.9.0, deployed (revision 1): remove",
        "webhooks that Kyverno wrote: 2: remove",
        "CRDs: 1: stay, with the objects of their kinds",
        "nothing was done: --yes does it",
    ]
    assert len(world.server.events) == before


def test_definitions_stay_and_are_taken_over_again(world: World) -> None:
    world.done()
    own = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "own"}}
    world.server.put("/apis/kyverno.io/v1/clusterpolicies/own", own)
    out = removed(world)
    assert "kyverno: 1 CRDs stay, with the policies and reports of their kinds" in out
    assert out.endswith("no webhook of Kyverno's is left\n")
    assert world.server.names("CustomResourceDefinition") == {"clusterpolicies.kyverno.io"}
    assert world.server.names("ClusterPolicy") == {"own"}
    assert world.run("uninstall", "--yes")[1].endswith("nothing is to be done\n")
    world.done()
    assert world.server.names("ClusterPolicy") == {"own", "first", "second"}


def test_releases_in_config_maps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELM_DRIVER", "configmap")
    world.done()
    (record,) = [name for name in world.server.names("ConfigMap") if ".v1.kyverno.v1" in name]
    path = f"/api/v1/namespaces/kyverno/configmaps/{record}"
    pending = {**world.server.objects[path]["metadata"]["labels"], "status": "pending-upgrade"}
    set_status(world, "kyverno", "pending-upgrade")
    assert world.server.objects[path]["metadata"]["labels"] == pending
    assert "its record is removed" in world.done("--stale-after", "0")
    removed(world)
    assert world.server.names("ConfigMap") == world.server.names("Secret") == set()
    assert world.server.names("CustomResourceDefinition") == {"clusterpolicies.kyverno.io"}


def test_definitions_go_when_that_is_asked_for(world: World) -> None:
    world.done()
    out = world.run("uninstall", "--crds")[1]
    assert "CRDs: 1: remove, and with them 2 objects: ALL policies" in out
    removed(world)
    out = removed(world, "--crds")
    assert "no CRD of the engine's is left" in out
    assert world.server.names("CustomResourceDefinition") == set()


@pytest.mark.parametrize("failing", [True, False])
def test_webhooks_go_when_the_clean_up_does_not(world: World, failing: bool) -> None:
    world.done()
    world.controllers.jobs = not failing
    world.controllers.cleans = False
    out = removed(world)
    assert "kyverno-policy-validating-webhook-cfg was left: it is deleted" in out
    assert ("kyverno: once more, without clean-up and webhooks (Helm: " in out) is failing


def test_a_webhook_that_refuses_what_helm_writes(world: World) -> None:
    world.done()

    def refuse(request: Request) -> None:
        if request.method != "GET" and "/secrets/" in request.path and webhooks(world):
            raise Refused(500, "InternalError", "failed calling webhook")

    world.server.before = refuse
    out = removed(world)
    assert "kyverno-policies: once more, without clean-up and webhooks (Helm: " in out
    assert "kyverno: 1 CRDs stay" in out


def test_webhooks_that_are_written_anew(world: World) -> None:
    world.done()
    written = 0

    def anew(request: Request) -> None:
        nonlocal written
        if request.method == "DELETE" and "webhookconfigurations" in request.path and written < 2:
            written += 1
            with world.server.lock:
                write_webhooks(world.server)

    world.controllers.cleans = False
    world.server.before = anew
    assert removed(world).count("was left") >= 2


def test_webhooks_are_deleted_once_no_pod_runs(world: World) -> None:
    world.done()
    world.controllers.cleans = False
    running = dict(world.server.objects[POD])
    asked: list[int] = []

    def linger(request: Request) -> None:
        if request.path.endswith("/pods"):
            asked.append(len(webhooks(world)))
            world.server.put(POD, running if len(asked) < 3 else None)

    world.server.before = linger
    removed(world)
    assert asked == [2, 2, 2]


def test_pods_that_never_end(world: World) -> None:
    world.done()
    running = dict(world.server.objects[POD])

    def stay(request: Request) -> None:
        if request.path.endswith("/pods"):
            world.server.put(POD, running)

    world.server.before = stay
    code, _, err = world.run("uninstall", "--yes", "--timeout", "60")
    assert code == 1
    assert "Kyverno's pods still run after 60 s: kyverno-admission-controller" in err
    assert "stands: kyverno: not there" in err
    world.server.before = lambda _: None
    world.server.put(POD, None)
    removed(world)


def test_webhooks_without_a_release(world: World) -> None:
    write_webhooks(world.server)
    other = {"name": "other", "labels": {"webhook.kyverno.io/managed-by": "another"}}
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/other"
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": HOOKS[0], "metadata": other}
    world.server.put(path, body)
    code, out, _ = world.run("uninstall", "--yes")
    assert code == 0
    assert "no webhook of Kyverno's is left" in out
    assert webhooks(world) == {"other"}


def test_a_failure_in_the_middle(world: World) -> None:
    world.done()

    def fail(request: Request) -> None:
        if request.method == "DELETE" and "/deployments/" in request.path:
            raise Refused(500, "InternalError", "the disk is full")

    world.server.before = fail
    code, _, err = world.run("uninstall", "--yes", "--timeout", "60")
    assert code == 1
    assert "stands: kyverno: 3.9.0, uninstalling (revision 1)" in err
    assert "stands: kyverno-policies: not there" in err
    assert err.splitlines()[-1].startswith("go on with: chartkit uninstall prd --project")
    world.server.before = lambda _: None
    removed(world)


def test_an_environment_without_an_engine_leaves_it(world: World) -> None:
    world.done()
    bare = replace(world, environment="bare")

    def fail(request: Request) -> None:
        if request.method == "DELETE":
            raise Refused(500, "InternalError", "the disk is full")

    world.server.before = fail
    code, _, err = bare.run("uninstall", "--yes", "--timeout", "60")
    assert code == 1
    assert err.startswith("Helm: failed to delete release: kyverno-policies")
    assert len(webhooks(world)) == 2
    world.server.before = lambda _: None
    code, out, _ = bare.run("uninstall", "--yes")
    assert code == 0
    assert "kyverno-policies: removing 3.9.0" in out
    assert world.server.names("Deployment") == {"kyverno-admission-controller"}
    assert len(webhooks(world)) == 2
