"""What goes wrong with a cluster: one clear line, no secret, and what could be read is judged."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import urllib3

from chartkit.errors import extra
from chartkit.model import Body
from chartkit.network.cluster import client
from chartkit.network.cluster.client import Collection, connect
from chartkit.network.cluster.live import LiveSource, _check
from chartkit.network.cluster.source import ClusterError, RefusedError, SourceError
from tests.api_server import TOKEN, Refused, Request
from tests.data import from_table
from tests.unit.network.cluster.conftest import World
from tests.unit.network.cluster.server import forbidden, labelled, pod


def test_forbidden_in_one_namespace(world: World) -> None:
    world.server.add(pod("a"), pod("c", "kube-system"))

    def refuse(request: Request) -> None:
        if request.path in ("/api/v1/pods", "/api/v1/namespaces/kube-system/pods"):
            raise forbidden("pods")

    world.server.before = refuse
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert code == 1
    assert "Pod/shop/a" in out
    assert "kube-system" not in out
    assert err == "not read: pods in namespace 'kube-system': forbidden (403)\n"


def test_what_is_not_read_fails_a_scan_without_violations(world: World) -> None:
    world.server.add(pod("a", labels={"team": "x"}))

    def refuse(request: Request) -> None:
        if request.path.endswith("/cronjobs"):
            raise forbidden("cronjobs")

    world.server.before = refuse
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert code == 1
    assert out.endswith("pass: 1, fail: 0, warn: 0, error: 0, skip: 0\n")
    assert err == "not read: cronjobs.batch: forbidden (403)\n"


def test_namespaces_that_may_not_be_listed(world: World) -> None:
    def refuse(request: Request) -> None:
        if request.path in ("/api/v1/pods", "/api/v1/namespaces"):
            raise forbidden("it")

    world.server.before = refuse
    _, _, err = world.scan("--cluster", *world.policies(labelled()))
    first, second = err.splitlines()
    assert first == "not read: namespaces: forbidden (403)"
    assert second.startswith("not read: pods: forbidden (403) (needs the right to list in all")


@pytest.mark.parametrize("at", ["/apis", "/api/v1/namespaces", "/api/v1/pods"])
def test_an_expired_token(world: World, at: str) -> None:
    world.server.add(pod("a"))

    def refuse(request: Request) -> None:
        if request.path == at:
            raise Refused(401, "Unauthorized", f"token {TOKEN} has expired")

    world.server.before = refuse
    code, out, err = world.scan("--cluster", "--record", "rec", *world.policies(labelled()))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "does not know you (401) (log in again" in err
    assert not list(world.folder.glob("*rec*"))


def test_a_token_that_expires_while_a_policy_asks(world: World) -> None:
    rule = labelled("asks")["spec"]["rules"][0]
    call = {"name": "there", "apiCall": {"urlPath": "/api/v1/configmaps"}}
    rule["context"] = [call]
    rule["preconditions"] = {"all": [{"key": "{{ there }}", "operator": "NotEquals", "value": 1}]}
    body = labelled("asks")
    body["spec"]["rules"] = [rule]
    world.server.add(pod("a"), pod("b"))

    def refuse(request: Request) -> None:
        if request.path == "/api/v1/configmaps":
            raise Refused(401, "Unauthorized", "Unauthorized")

    world.server.before = refuse
    code, out, err = world.scan("--cluster", *world.policies(body))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "(401)" in err


def test_cluster_failures_nobody_there(world: World) -> None:
    code, out, err = world.scan("--cluster", "--context", "closed", *world.policies(labelled()))
    assert (code, out) == (2, "")
    assert err.startswith("closed (127.0.0.1:9) does not answer (is the cluster up")


def test_no_such_context(world: World) -> None:
    code, _, err = world.scan("--cluster", "--context", "other", *world.policies(labelled()))
    assert code == 2
    assert "there is no context 'other' (it has stub, closed)" in err


def test_without_the_client(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kubernetes.client", None)
    code, _, err = world.scan("--cluster", *world.policies(labelled()))
    assert code == 2
    assert f"client is not installed ({extra('cluster')})" in err


def test_an_expired_continue_token_starts_the_list_again(
    world: World, small_pages: Callable[[int], None]
) -> None:
    small_pages(2)
    world.server.add(*(pod(f"p{index}") for index in range(5)))
    expired: list[str] = []

    def cut(request: Request, page: Body) -> Body:
        if request.query.get("continue") == "4" and not expired:
            expired.append(request.path)
            raise Refused(410, "Expired", "The provided continue parameter is too old")
        return page

    world.server.cut = cut
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, err) == (1, "")
    assert expired == ["/api/v1/pods"]
    # Nothing twice.
    assert "fail: 5," in out


def test_a_list_that_expires_for_ever_ends(
    world: World, small_pages: Callable[[int], None]
) -> None:
    small_pages(2)
    world.server.add(*(pod(f"p{index}") for index in range(5)))

    def cut(request: Request, page: Body) -> Body:
        if request.query.get("continue"):
            raise Refused(410, "Expired", "too old")
        return page

    world.server.cut = cut
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert code == 1
    assert "fail: 2," in out
    assert err == "not read: pods: too old (410)\n"


def test_a_list_whose_next_page_is_gone_is_not_taken_for_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PAGE", 2)
    world.server.add(*(pod(f"p{index}") for index in range(5)))
    pods, cluster = Collection("", "v1", "pods"), connect(None)
    assert len(cluster.objects(pods)) == 5

    def cut(request: Request, page: Body) -> Body:
        if request.query.get("continue") == "4":
            raise Refused(410, "Expired", "too old")
        return page

    world.server.cut = cut
    with pytest.raises(ClusterError, match=r"failed to list pods \(410\)"):
        cluster.objects(pods)


def test_a_busy_server_is_asked_again(world: World) -> None:
    busy = [Refused(429, "TooManyRequests", "busy"), Refused(503, "ServiceUnavailable", "busy")]
    asked: list[float] = []

    def refuse(_: Request) -> None:
        if busy:
            raise busy.pop()

    world.server.before = refuse
    source = LiveSource(connect(None), sleep=asked.append)
    assert source.get("/version")["gitVersion"] == "v1.34.1"
    assert asked == [1.0, 1.0]


def test_cluster_failures_interrupted(world: World) -> None:
    world.server.add(pod("a"))

    def stop(request: Request) -> None:
        if request.path == "/api/v1/pods":
            signal.raise_signal(signal.SIGINT)

    world.server.before = stop
    code, out, err = world.scan("--cluster", "--record", "rec", *world.policies(labelled()))
    # The stub tells that its client has gone.
    assert (code, out, err.splitlines()[-1]) == (130, "", "interrupted")
    assert not list(world.folder.glob("*rec*"))


class _Response:
    status = 200
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts

    def read(self, _size: int) -> bytes:
        return next(self._parts, b"")

    def release_conn(self) -> None: ...

    def close(self) -> None: ...


def test_an_answer_that_is_cut(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as cutting:

        def answer() -> None:
            connection, _ = cutting.accept()
            with connection:
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += connection.recv(65536)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"groups": [')
                # A reset would say something else than an end that comes too early.
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)

        threading.Thread(target=answer, daemon=True).start()
        place = f"http://127.0.0.1:{cutting.getsockname()[1]}"
        config = world.server.kubeconfig.replace(world.server.url, place)
        (world.folder / "kubeconfig").write_text(config)
        code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, out) == (2, "")
    assert err.endswith("cut its answer short (try again)\n")


def test_a_server_without_tls(world: World) -> None:
    config = world.server.kubeconfig.replace("http://", "https://")
    (world.folder / "kubeconfig").write_text(config)
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "the TLS connection failed (is its certificate" in err


def _cut() -> Iterator[bytes]:
    yield b'{"items": ['
    raise urllib3.exceptions.IncompleteRead(11, 100)


def _endless() -> Iterator[bytes]:
    while True:
        yield b"x" * (1 << 20)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (_cut, "cut its answer short (try again)"),
        (lambda: iter([b"<html>"]), "did not respond with a JSON object"),
        (lambda: iter([b"[" * 100_000]), "did not respond with a JSON object"),
        (lambda: iter([b"[]"]), "did not respond with a JSON object"),
    ],
)
def test_answers_that_are_none(
    world: World, parts: Callable[[], Iterator[bytes]], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def request(*_: object, **__: object) -> _Response:
        return _Response(parts())

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert text in err


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (urllib3.exceptions.SSLError("certificate: MIIC"), "the TLS connection failed"),
        (urllib3.exceptions.ConnectTimeoutError("x"), "does not answer"),
        (urllib3.exceptions.ReadTimeoutError(None, "", "x"), "did not answer in 60 s"),  # type: ignore[arg-type]
        (urllib3.exceptions.LocationParseError("x"), "cannot be asked (LocationParseError)"),
    ],
)
@pytest.mark.usefixtures("world")
def test_connections_that_fail(
    error: Exception, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def request(*_: object, **__: object) -> _Response:
        raise error

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    source = LiveSource(connect(None))
    for _ in range(2):
        with pytest.raises(SourceError) as raised:
            source.get("/version")
        assert text in str(raised.value)
        assert "MIIC" not in str(raised.value)


@from_table("path")
def test_paths_that_do_more_than_to_read_here(path: str) -> None:
    if path.endswith("&watch"):
        path += "="
    with pytest.raises(RefusedError):
        _check(path)


def test_an_answer_without_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def request(*_: object, **__: object) -> _Response:
        return _Response(_endless())

    monkeypatch.setattr("chartkit.network.cluster.live.MOST_BYTES", 1 << 22)
    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    code, _, err = world.scan("--cluster", *world.policies(labelled()))
    said = "the API server does not say what it serves: the answer has more than 4 MiB (413)\n"
    assert (code, err) == (2, said)


def test_pages_that_are_too_large_become_smaller(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.server.add(*(pod(f"p{index}", note="x" * 1000) for index in range(60)))
    monkeypatch.setattr("chartkit.network.cluster.live.MOST_BYTES", 30_000)
    code, out, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, err) == (1, "")
    assert "fail: 60," in out


def test_paths_that_read() -> None:
    for path in (
        "/api/v1/namespaces/proxy/pods",
        "/api/v1/namespaces/a/configmaps/exec",
        "/api/v1/nodes/proxy",
        "/apis/apps/v1/namespaces/watch/deployments/attach",
        "/api/v1/pods?watch=false&limit=5",
        "/apis/apps/v1/deployments",
        "/version",
    ):
        _check(path)


def test_a_refusal_does_not_quote_the_token(world: World) -> None:
    def refuse(request: Request) -> None:
        if request.path.endswith("/pods"):
            raise Refused(400, "BadRequest", f"Bearer {TOKEN} is odd")

    world.server.before = refuse
    _, _, err = world.scan("--cluster", *world.policies(labelled()))
    assert err == "not read: pods: Bearer *** is odd (400)\n"


def test_cluster_failures_no_kubeconfig(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    code, _, err = world.scan("--cluster", *world.policies(labelled()))
    assert (code, err) == (2, "there is no kubeconfig (set KUBECONFIG, or write ~/.kube/config)\n")
