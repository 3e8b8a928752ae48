import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from gzip import compress, decompress
from pathlib import Path

import pytest

from chartkit.addons.operate.install import run, verify
from chartkit.cli.main import main
from tests.api_server import ApiServer
from tests.api_server_controllers import Controllers
from tests.api_server_http import TOKEN
from tests.small_charts import write_project


@dataclass
class World:
    """A cluster, a project to install there, and the command."""

    server: ApiServer
    controllers: Controllers
    project: Path
    capture: pytest.CaptureFixture[str]

    environment: str = "prd"

    def run(self, command: str, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command; never with the token."""
        with pytest.raises(SystemExit) as ended:
            main([command, self.environment, "--project", str(self.project), *arguments])
        captured = self.capture.readouterr()
        assert TOKEN not in captured.out + captured.err
        return int(ended.value.code or 0), captured.out, captured.err

    def install(self, *arguments: str) -> tuple[int, str, str]:
        return self.run("install", "--allow-drift", *arguments)

    def done(self, *arguments: str) -> str:
        """An installation that succeeds."""
        code, out, err = self.install("--yes", "--timeout", "60", *arguments)
        assert (code, err) == (0, ""), out + err
        return out

    def statuses(self, release: str) -> list[str]:
        """The statuses of a release's revisions, as Helm keeps them."""
        labels = [body["metadata"]["labels"] for body in self.server.of_kind("Secret")]
        return [each["status"] for each in labels if each["name"] == release]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that passes by sleeping alone: what is waited for in vain costs none, and what is slow
    has all it needs. Helm has its own."""
    passed = 0.0

    def sleep(seconds: float) -> None:
        nonlocal passed
        passed += seconds

    own = partial(verify.Waiter, clock=lambda: passed, sleep=sleep)
    monkeypatch.setattr(verify, "Waiter", own)
    monkeypatch.setattr(run, "Tools", partial(run.Tools, sleep=sleep))


@pytest.fixture
def controllers() -> Controllers:
    return Controllers()


@pytest.fixture
def server(
    controllers: Controllers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ApiServer]:
    with controllers.attach(ApiServer()) as running:
        file = tmp_path / "kubeconfig"
        file.write_text(running.kubeconfig)
        monkeypatch.setenv("KUBECONFIG", str(file))
        for name in ("HELM_DRIVER", "KUBERNETES_SERVICE_HOST"):
            monkeypatch.delenv(name, raising=False)
        yield running


@pytest.fixture
def world(
    server: ApiServer, controllers: Controllers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> World:
    return World(server, controllers, write_project(tmp_path / "project"), capsys)


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Writes a kubeconfig with this text, and makes it the one that is used."""

    def write(text: str) -> Path:
        file = tmp_path / "own"
        file.write_text(text)
        monkeypatch.setenv("KUBECONFIG", str(file))
        return file

    return write


def set_status(world: World, release: str, status: str) -> None:
    """Makes a release look as if Helm was killed at work on its last revision."""
    path = [path for path in world.server.objects if f"release.v1.{release}.v" in path][-1]
    body = world.server.objects[path]
    secret = body["kind"] == "Secret"
    encoded = body["data"]["release"]
    stored = json.loads(decompress(b64decode(b64decode(encoded) if secret else encoded)))
    stored["info"]["status"] = status
    packed = b64encode(compress(json.dumps(stored).encode()))
    data = {"release": (b64encode(packed) if secret else packed).decode()}
    labels = {**body["metadata"]["labels"], "status": status}
    metadata = {**body["metadata"], "labels": labels}
    world.server.put(path, {**body, "metadata": metadata, "data": data})
