"""Connections, certificates, reloads of policies, and results that reviews share."""

import gc
import json
import socket
import stat
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chartkit.addons.serve.admission.certificates import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    given_certificates,
    made_certificates,
)
from chartkit.addons.serve.admission.judge import Judge, PolicyReloader, Verdict
from chartkit.addons.serve.admission.limits import SHORT_PATIENCE, Connections
from chartkit.addons.serve.admission.metrics import Metrics
from chartkit.addons.serve.admission.review import parse_review
from chartkit.addons.serve.admission.selection import Served
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.engine import RunnablePolicy
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.errors import InputError
from chartkit.model import Body
from tests.addons.serve.admission.bodies import (
    AUDITED,
    CEL,
    LABELS,
    POD,
    TEAM,
    changed,
    policies,
    review,
)

_PATIENCE = 10.0


class _Server:
    """Connections to a socket of this process, whose clock the test sets."""

    def __init__(self, held: ExitStack, host: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._held = held
        self._listener = held.enter_context(socket.create_server((host, 0), family=family))
        self._address = self._listener.getsockname()[:2]
        self.now = 100.0
        self.lines: list[dict[str, Any]] = []
        log = Log("info", lambda line: self.lines.append(json.loads(line)))
        port = self._address[1]
        self.connections = Connections(port, _PATIENCE, log, most=8, clock=lambda: self.now)

    def client(self) -> socket.socket:
        """Return a client that is connected."""
        made = self._held.enter_context(socket.create_connection(self._address, 5))
        self._held.enter_context(self._listener.accept()[0])
        return made

    def look(self, seconds: float) -> None:
        self.now += seconds
        self.connections.look()


@pytest.fixture(params=["127.0.0.1", "::1"])
def server(request: pytest.FixtureRequest) -> Iterator[_Server]:
    with ExitStack() as held:
        try:
            yield _Server(held, request.param)
        except OSError:
            pytest.skip(f"no {request.param} here")


def _is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def test_who_sends_no_request_in_time_is_disconnected(server: _Server) -> None:
    silent, heard = server.client(), server.client()
    server.connections.hear(heard.getsockname()[:2])
    server.look(0)
    server.look(_PATIENCE - 1)
    assert not _is_closed(silent)
    late = server.client()
    server.look(1)
    assert [_is_closed(each) for each in (silent, heard, late)] == [True, False, False]
    server.connections.hear(late.getsockname()[:2])
    server.look(0.5)
    server.look(10 * _PATIENCE)
    assert [_is_closed(each) for each in (heard, late)] == [False, False]
    assert [(each["message"], each["closed"]) for each in server.lines] == [
        ("connections that sent no request were closed", 1)
    ]


def test_there_is_less_time_where_there_are_many_and_a_line_at_the_bound(server: _Server) -> None:
    clients = [server.client() for _ in range(8)]
    server.connections.hear(clients[0].getsockname()[:2])
    server.look(0)
    assert server.lines[0]["message"] == "no more connections are accepted until others end"
    assert (server.lines[0]["open"], server.lines[0]["most"]) == (8, 8)
    server.look(SHORT_PATIENCE)
    assert [_is_closed(each) for each in clients] == [False, *[True] * 7]
    assert len(server.lines) == 1
    server.look(_PATIENCE)
    assert server.lines[1]["closed"] == 7


def test_other_sockets_of_the_process_stay(server: _Server) -> None:
    one, other = socket.socketpair()
    with one, other, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        with socket.create_connection(elsewhere.getsockname()) as client:
            accepted, _ = elsewhere.accept()
            with accepted:
                server.look(0)
                server.look(2 * _PATIENCE)
                assert not _is_closed(client)
        assert not _is_closed(one)
    assert server.lines == []


pytest.importorskip("cryptography")


NAMES = ("localhost", "127.0.0.1")


def _other(name: str) -> Callable[[Path], object]:
    """Return what puts another server's file in the place of one, as a kill between two leaves."""

    def put(folder: Path) -> None:
        made_certificates(folder / "other", NAMES)
        (folder / "other" / name).replace(folder / name)

    return put


def test_certificates_that_fit_are_used_again(tmp_path: Path) -> None:
    made = made_certificates(tmp_path, NAMES)
    content = made.certificate.read_bytes()
    assert made_certificates(tmp_path, NAMES[:1]) == made
    assert made.certificate.read_bytes() == content
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600
    given_certificates(made.certificate, made.key, tmp_path / AUTHORITY)


@pytest.mark.parametrize(
    "spoil",
    [
        _other(AUTHORITY),
        _other(CERTIFICATE),
        _other(KEY),
        lambda folder: (folder / KEY).unlink(),
        lambda folder: (folder / KEY).write_text("no PEM"),
        lambda folder: (folder / CERTIFICATE).write_bytes(b""),
        lambda folder: (folder / KEY).chmod(0o644) or (folder / AUTHORITY).unlink(),
    ],
)
def test_what_does_not_fit_together_is_made_anew(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    before = made_certificates(tmp_path, NAMES).certificate.read_bytes()
    spoil(tmp_path)
    made = made_certificates(tmp_path, NAMES)
    assert made.certificate.read_bytes() != before
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600
    assert made_certificates(tmp_path, NAMES) == made
    given_certificates(made.certificate, made.key, tmp_path / AUTHORITY)


@dataclass
class _Texts:
    """A source of policies; is_broken: whether they cannot be read."""

    is_broken: bool = False

    def load(self) -> Served:
        if self.is_broken:
            raise InputError("is broken")
        return Served(policies(TEAM, CEL, LABELS))

    def changed(self) -> bool:
        return True

    def close(self) -> None:
        pass


def _judge(reloader: PolicyReloader, metrics: Metrics) -> None:
    for path in ("/validate", "/mutate"):
        found = reloader.judge.find(path)
        assert found is not None
        read = parse_review(review())
        for _ in range(12):  # The last ones are equal to others.
            metrics.review(read, found[0], reloader.judge.judge(read, *found), 0.001)


def test_policies_of_before_are_given_up(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    metrics = Metrics(tmp_path)
    reloader = PolicyReloader(_Texts(), Log("error"), 1, metrics.reloaded)
    _judge(reloader, metrics)
    before = weakref.ref(reloader.judge)
    first = {id(each) for each in reloader.served.policies}
    assert reloader.reload()
    _judge(reloader, metrics)
    gc.collect()
    assert before() is None
    alive = [each for each in gc.get_objects() if id(each) in first]
    assert [each for each in alive if hasattr(each, "run_phase")] == []


def test_a_broken_set_is_not_used() -> None:
    source, lines = _Texts(), list[bytes]()
    counted: list[bool] = []
    reloader = PolicyReloader(source, Log("info", lines.append), 1, counted.append)
    judge = reloader.judge
    source.is_broken = True
    assert not reloader.reload()
    assert reloader.judge is judge
    assert b"those from before stay" in lines[-1]
    assert b"is broken" in lines[-1]
    source.is_broken = False
    assert reloader.reload()
    assert counted == [False, True]


_MESSAGES = (
    "request.name",
    "request.namespace",
    "request.operation",
    "request.uid || 'none'",
    "request.dryRun || 'none'",
    "request.userInfo.username",
    "request.userInfo.groups[0]",
    "request.userInfo.extra.a[0] || 'none'",
    "serviceAccountName",
    "request.object.metadata.name",
    "request.object.metadata.labels.app || 'none'",
    "request.object.spec.containers[].image | to_string(@)",
)
_EXPRESSIONS = (
    "request.name != 'pod-3'",
    "request.userInfo.username != 'joe'",
    "request.operation == 'UPDATE' || object.metadata.name != 'pod-2'",
    "namespaceObject.metadata.name != 'shop'",
    "!request.dryRun",
    "variables.name != 'pod-1'",
)
_NEW = [CEL, *(CEL.replace("no-latest", f"e{number}") for number in range(len(_EXPRESSIONS)))]


def _texts() -> list[str]:
    messages = [
        TEAM.replace("require-team", f"m{number}").replace("it is required", f"{{{{ {each} }}}}")
        for number, each in enumerate(_MESSAGES)
    ]
    expressions = [
        text.replace("object.spec.containers.all(c, !c.image.endsWith(':latest'))", each).replace(
            "  validations:",
            "  variables: [{name: name, expression: object.metadata.name}]\n  validations:",
        )
        for text, each in zip(_NEW[1:], _EXPRESSIONS, strict=True)
    ]
    excepted = TEAM.replace("require-team", "by-user").replace(
        "    validate:",
        "    exclude: {any: [{subjects: [{kind: User, name: joe}]}]}\n    validate:",
    )
    legacy = [each.replace("  rules:", "  background: false\n  rules:") for each in messages]
    excepted = excepted.replace("  rules:", "  background: false\n  rules:")
    return [TEAM, AUDITED, CEL, excepted, *legacy, *expressions]


def _reviews() -> list[bytes]:
    """Return reviews that differ in one thing or another, many of them equal in what is read."""
    found = []
    for number in range(60):
        body: Body = changed(
            POD,
            name=f"pod-{number % 4}",
            namespace=("default", "shop")[number // 20 % 2],
            labels={"app": "ab"[number % 2], **({"team": "x"} if number % 5 == 0 else {})},
            annotations={"number": str(number)},
        )
        user: Any = {"username": ("jane", "joe")[number // 30 % 2], "groups": ["g"]}
        user["extra"] = {"a": [str(number // 15 % 2)]}
        more = {"operation": "UPDATE", "oldObject": POD} if number % 7 == 0 else {}
        found.append(review(body, userInfo=user, dryRun=number % 3 == 0, **more))
    return found


def _verdict(judge: Judge, content: bytes) -> Verdict:
    found = judge.find("/validate")
    assert found is not None
    verdict = judge.judge(parse_review(content), *found)
    judge.audit(verdict, found[1])
    return verdict


def _told(verdict: Verdict) -> tuple[object, ...]:
    results = [(each.policy.policy.key, list(each.results)) for each in verdict.evaluated]
    return verdict.answer, results


@pytest.mark.parametrize("text", _texts())
def test_each_review_gets_its_own_answer(text: str) -> None:
    own = policies(text)
    shared = Judge(Served(own))
    for content in _reviews():
        assert _told(_verdict(shared, content)) == _told(_verdict(Judge(Served(own)), content))


def test_equal_reviews_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[RunnablePolicy] = []
    run = CompiledPolicy.run_phase

    def counted(self: CompiledPolicy, *arguments: Any) -> None:
        judged.append(self)
        run(self, *arguments)

    monkeypatch.setattr(CompiledPolicy, "run_phase", counted)
    judge = Judge(Served(policies(TEAM)))
    for number in range(100):
        pod = changed(POD, name=f"pod-{number}", labels={"team": "x"} if number % 2 else {})
        _verdict(judge, review(pod, uid=f"uid-{number}"))
    assert len(judged) < 12
