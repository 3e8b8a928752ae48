import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.api_server import ApiServer
from tests.api_server_controllers import Controllers
from tests.api_server_http import TOKEN, Request
from tests.data import from_table
from tests.e2e.command import PROGRAM, Done, chartkit
from tests.e2e.transcript import check_page
from tests.loopback import LONGEST
from tests.small_charts import POLICY_NAMES, write_project

pytestmark = pytest.mark.slow

HOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


@dataclass
class Cluster:
    server: ApiServer
    project: Path
    kubeconfig: Path

    def run(self, *arguments: str, **environment: str) -> Done:
        given = {"KUBECONFIG": str(self.kubeconfig), **environment}
        done = chartkit(self.project, *arguments, **given)
        assert TOKEN not in done.out + done.err
        return done

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
        )

    def ended_at(self, method: str, part: str, how: signal.Signals, *arguments: str) -> Done:
        """Ends a command with a signal while a request of it is under way."""
        reached, released = threading.Event(), threading.Event()

        def hold(request: Request) -> None:
            if request.method == method and part in request.path and not released.is_set():
                reached.set()
                released.wait(LONGEST)

        self.server.before = hold
        running = self.start(*arguments)
        try:
            assert reached.wait(LONGEST), running.communicate(timeout=LONGEST)
            running.send_signal(how)
            if how is signal.SIGKILL:
                running.wait(LONGEST)
        finally:
            released.set()
        out, err = running.communicate(timeout=LONGEST)
        self.server.before = lambda _: None
        return Done(running.returncode, out, err)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with Controllers().attach(ApiServer()) as running:
        yield running


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Cluster:
    file = tmp_path / "kubeconfig"
    file.write_text(server.kubeconfig)
    return Cluster(server, write_project(tmp_path / "small"), file)


def test_install_page_is_true(
    project: Path, server: ApiServer, tmp_path: Path, update: bool
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(server.kubeconfig.replace('"stub"', '"prd-eu"'))
    server.version = "v1.35.2"
    check_page(
        "how-to/install.md",
        project,
        update,
        {"KUBECONFIG": str(file)},
        lambda text: re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:6443", text),
    )
    assert not any(server.of_kind(kind) for kind in (*HOOKS, "Deployment"))


@from_table("method", "part")
def test_killed_midway_the_next_call_repairs(cluster: Cluster, method: str, part: str) -> None:
    install = ("install", "prd", "--allow-drift", "--yes", "--stale-after", "0")
    cluster.ended_at(method, part, signal.SIGKILL, *install)
    done = cluster.run(*install)
    assert (done.code, done.err) == (0, ""), done.out + done.err
    assert "the policies are ready" in done.out
    assert cluster.server.names("ClusterPolicy") == set(POLICY_NAMES)
    statuses = {body["metadata"]["labels"]["status"] for body in cluster.server.of_kind("Secret")}
    assert statuses <= {"deployed", "superseded"}


def test_uninstall_killed_midway(cluster: Cluster) -> None:
    assert cluster.run("install", "prd", "--allow-drift", "--yes").code == 0
    uninstall = ("uninstall", "prd", "--yes")
    cluster.ended_at("DELETE", "/deployments/", signal.SIGKILL, *uninstall)
    done = cluster.run(*uninstall)
    assert (done.code, done.err) == (0, ""), done.out + done.err
    assert not any(cluster.server.of_kind(kind) for kind in (*HOOKS, "Deployment", "Secret"))
    assert cluster.server.of_kind("CustomResourceDefinition")


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_interrupted_it_says_what_stands(
    cluster: Cluster, sent: signal.Signals, code: int, said: str
) -> None:
    install = ("install", "prd", "--allow-drift", "--yes")
    done = cluster.ended_at("PATCH", "/clusterpolicies/second", sent, *install)
    assert done.code == code, done.err
    first, *stands, on = done.err.splitlines()
    assert first == said
    assert stands[0] == "stands: kyverno: 3.9.0, deployed (revision 1)"
    assert stands[1].startswith("stands: kyverno-policies: 3.9.0, ")
    assert on == "go on with: chartkit install prd --allow-drift --yes"


def test_through_the_program(cluster: Cluster) -> None:
    program = shutil.which("helm")
    if program is None:
        pytest.skip("helm is not here")
    install = ("install", "prd", "--allow-drift", "--yes")
    for arguments in (install, ("uninstall", "prd", "--yes", "--crds")):
        done = cluster.run(*arguments, CHARTKIT_HELM=program)
        assert (done.code, done.err) == (0, ""), done.out + done.err
    assert not any(cluster.server.of_kind(kind) for kind in (*HOOKS, "Deployment", "Secret"))
    assert not cluster.server.of_kind("CustomResourceDefinition")
