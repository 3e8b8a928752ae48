import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chartkit.cli.main import main
from chartkit.model import Body
from tests.api_server import TOKEN
from tests.unit.network.cluster.server import PagedServer, namespace


@dataclass
class World:
    """A cluster, a folder to work in, and the command."""

    server: PagedServer
    folder: Path
    capture: pytest.CaptureFixture[str]

    def policies(self, *bodies: Body) -> list[str]:
        """The options that name policies."""
        for index, body in enumerate(bodies):
            (self.folder / f"policy-{index}.json").write_text(json.dumps(body))
        return [part for index in range(len(bodies)) for part in ("-p", f"policy-{index}.json")]

    def scan(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a scan; never with the token."""
        with pytest.raises(SystemExit) as ended:
            main(["scan", *arguments])
        captured = self.capture.readouterr()
        assert TOKEN not in captured.out + captured.err
        assert {request.method for request in self.server.requests} <= {"GET"}
        return int(ended.value.code or 0), captured.out, captured.err


@pytest.fixture
def server() -> Iterator[PagedServer]:
    with PagedServer() as running:
        running.add(namespace("shop", tier="front"), namespace("kube-system"))
        yield running


@pytest.fixture
def world(
    server: PagedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> World:
    (tmp_path / "kubeconfig").write_text(server.kubeconfig)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.chdir(tmp_path)
    return World(server, tmp_path, capsys)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def choose(size: int) -> None:
        monkeypatch.setattr("chartkit.network.cluster.reader.PAGE", size)

    return choose
