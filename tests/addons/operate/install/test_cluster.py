import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chartkit.errors import InputError
from chartkit.network.cluster.client import CRDS, DEPLOYMENTS, connect
from chartkit.network.cluster.source import ClusterError, NoAnswerError
from tests.addons.operate.install.conftest import World
from tests.api_server import ApiServer
from tests.api_server_http import TOKEN, Refused, Request
from tests.errors import error_of

Writer = Callable[[str], Path]


def refusing(code: int, reason: str) -> Callable[[Request], None]:
    def refuse(_: Request) -> None:
        raise Refused(code, reason, f"no; {TOKEN}")

    return refuse


def test_pages_are_read_to_the_end(server: ApiServer) -> None:
    pages = [["a", "b"], ["c"]]

    def paged(request: Request) -> dict[str, Any]:
        at = int(request.query.get("continue", 0))
        more = {"continue": str(at + 1)} if at + 1 < len(pages) else {}
        return {"metadata": more, "items": [{"metadata": {"name": name}} for name in pages[at]]}

    server.answer = paged  # type: ignore[method-assign]
    found = connect(None).objects(DEPLOYMENTS, "kyverno", "a=b")
    assert [each["metadata"]["name"] for each in found] == ["a", "b", "c"]


def test_what_is_not_served_is_empty(server: ApiServer) -> None:
    server.apis.clear()
    assert connect(None).objects(CRDS) == []
    assert connect("stub").read(CRDS, "x") is None


@pytest.mark.parametrize(
    ("code", "reason", "kind", "text"),
    [
        (401, "Unauthorized", ClusterError, "does not know you (401) (log in again"),
        (403, "Forbidden", ClusterError, "does not allow you to list deployments.apps (403)"),
        (500, "InternalError", NoAnswerError, "failed to list deployments.apps (500)"),
        (429, "TooManyRequests", NoAnswerError, "failed to list deployments.apps (429)"),
    ],
)
def test_cluster_refusals(
    server: ApiServer, code: int, reason: str, kind: type[ClusterError], text: str
) -> None:
    server.before = refusing(code, reason)
    with pytest.raises(ClusterError) as raised:
        connect(None).objects(DEPLOYMENTS, "kyverno")
    assert type(raised.value) is kind
    assert text in str(raised.value)
    assert TOKEN not in str(raised.value)


def test_what_is_not_an_api_server(server: ApiServer) -> None:
    def otherwise(request: Request) -> dict[str, Any]:
        return {"asked": request.path}

    server.answer = otherwise  # type: ignore[method-assign]
    with pytest.raises(ClusterError, match="reports no version"):
        connect(None).version()


def test_cluster_nobody_listens(world: World) -> None:
    code, out, err = world.install("--context", "closed")
    assert (code, out) == (2, "")
    assert err.startswith("closed (127.0.0.1:9) does not answer (")


def test_a_context_that_is_not_there(world: World) -> None:
    code, out, err = world.install("--context", "nope")
    assert (code, out) == (2, "")
    assert err.endswith("kubeconfig: there is no context 'nope' (it has stub, closed)\n")


def test_cluster_no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(InputError, match="there is no such file"):
        connect(None)
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError, match="there is no kubeconfig"):
        connect(None)


@pytest.mark.parametrize(
    "text",
    [
        f"users: [{{token: {TOKEN}",
        f"- {TOKEN}",
        TOKEN,
        "",
        f'{{"users": [{{"token": "{TOKEN}"}}], "current-context": "x"}}',
        f"clusters: {TOKEN}\ncontexts: []\ncurrent-context: x",
    ],
)
def test_a_broken_kubeconfig_is_not_quoted(kubeconfig: Writer, text: str) -> None:
    file = kubeconfig(text)
    error = error_of(InputError, connect, None)
    assert str(error).startswith(str(file))
    assert TOKEN not in str(error)


def test_a_user_with_a_mistake_is_not_quoted(server: ApiServer, kubeconfig: Writer) -> None:
    body = json.loads(server.kubeconfig)
    body["users"] = [{"name": "u", "usr": {"token": TOKEN}}]
    kubeconfig(json.dumps(body))
    assert TOKEN not in str(error_of(InputError, connect, None))


def test_a_credential_plugin_that_fails(
    server: ApiServer, kubeconfig: Writer, capfd: pytest.CaptureFixture[str]
) -> None:
    body = json.loads(server.kubeconfig)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"import sys; sys.exit('{TOKEN}')"],
        "interactiveMode": "Never",
    }
    body["users"] = [{"name": "u", "user": {"exec": plugin}}]
    kubeconfig(json.dumps(body))
    with pytest.raises(
        InputError, match="the credential plugin of context 'stub' failed"
    ) as raised:
        connect(None)
    captured = capfd.readouterr()
    assert TOKEN not in str(raised.value) + captured.out + captured.err


def test_several_files(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.write_text(json.dumps({**json.loads(server.kubeconfig), "current-context": "closed"}))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'kubeconfig'}:{other}:{tmp_path / 'gone'}")
    cluster = connect("stub")
    assert cluster.version() == server.version
    assert cluster.kubeconfig is None


def test_the_client_is_not_installed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    code, out, err = world.install()
    assert (code, out) == (2, "")
    assert err == (
        "Kubernetes' Python client is not installed "
        "(pip install '.[cluster]' where chartkit's source is, or 'WHEEL[cluster]')\n"
    )


def test_releases_are_kept_elsewhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELM_DRIVER", "sql")
    code, _, err = world.install()
    assert code == 2
    assert err == "HELM_DRIVER is 'sql' (chartkit knows releases in Secrets and ConfigMaps)\n"
