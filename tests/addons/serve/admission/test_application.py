"""The application without a server: what fails beside a review, and what clients may send."""

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chartkit.addons.serve.admission.judge import Judge, PolicyReloader
from chartkit.addons.serve.admission.limits import ServerSettings
from chartkit.addons.serve.admission.metrics import Metrics
from chartkit.addons.serve.admission.reports import Reports
from chartkit.addons.serve.admission.selection import Served
from chartkit.addons.serve.admission.server import Application
from chartkit.addons.serve.admission.telemetry import Log, NoSpans
from chartkit.errors import InputError
from tests.addons.serve.admission.bodies import AUDITED, CEL, POD, TEAM, changed, policies, review

pytest.importorskip("prometheus_client")

_MOST = 300_000
_JSON = ((b"content-type", b"application/json"),)


class _Source:
    def load(self) -> Served:
        return Served(policies(TEAM, AUDITED, CEL))

    def changed(self) -> bool:
        raise ZeroDivisionError

    def close(self) -> None:
        pass


class _Server:
    """An application, its parts, and the lines of its log; unread: the parts of the last body that
    it did not wait for."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[dict[str, Any]] = []
        self.unread = 0
        self.metrics = Metrics(folder)
        log = Log("info", lambda line: self.lines.append(json.loads(line)), self.metrics.failed)
        self.reloader = PolicyReloader(_Source(), log, 0.01)
        self.reports = Reports(None, log)
        settings = ServerSettings(host="", port=0, certificate=folder, key=folder, max_body=_MOST)
        self.spans = NoSpans()
        self.application = Application(
            settings, self.reloader, log, self.metrics, self.reports, self.spans
        )

    def send(
        self,
        path: str,
        *parts: bytes,
        method: str = "POST",
        query: bytes = b"",
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> tuple[int, bytes]:
        """Send a request, and return the status and the body."""
        waiting = iter(
            {"type": "http.request", "body": part, "more_body": number + 1 < len(parts)}
            for number, part in enumerate(parts or (b"",))
        )
        sent: list[Any] = []

        async def receive() -> Any:
            return next(waiting)

        async def send(message: Any) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "path": path,
            "method": method,
            "query_string": query,
        }
        scope["headers"] = (*_JSON, *headers)
        asyncio.run(self.application(scope, receive, send))
        self.unread = len(list(waiting))
        return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])

    def text(self) -> str:
        return self.send("/metrics", method="GET")[1].decode()


@pytest.fixture
def server(tmp_path: Path) -> _Server:
    return _Server(tmp_path)


def _raises(error: Exception) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


@pytest.mark.parametrize("error", [InputError("no cluster"), OSError(28, "no space"), KeyError(1)])
@pytest.mark.parametrize(
    ("of", "method", "part"),
    [
        (Judge, "audit", "audit"),
        (Metrics, "review", "metrics"),
        (NoSpans, "add", "spans"),
        (Reports, "add", "reports"),
    ],
)
def test_an_error_after_the_answer_is_logged_and_counted(
    server: _Server,
    monkeypatch: pytest.MonkeyPatch,
    of: type,
    method: str,
    part: str,
    error: Exception,
) -> None:
    seen: list[str] = []
    for other, name in ((Metrics, "review"), (NoSpans, "add"), (Reports, "add")):
        monkeypatch.setattr(other, name, lambda *_, name=name: seen.append(name))
    monkeypatch.setattr(of, method, _raises(error))
    good = review(changed(POD, labels={"team": "a"}))
    status, body = server.send("/validate", good)
    assert (status, json.loads(body)["response"]["allowed"]) == (200, True)
    (line,) = [each for each in server.lines if each["level"] == "error"]
    assert line["message"] == f"{part} of an answered review failed"
    assert line["uid"] == "c0ffee"
    assert line["error"]
    assert f'chartkit_serve_failures_total{{part="{part}"}} 1.0' in server.text()
    assert len(seen) == (3 if part == "audit" else 2)


@pytest.mark.parametrize("size", [10, 200_000])
def test_a_large_review_leaves_the_loop_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(_Source, "load", lambda _: Served(policies(TEAM, AUDITED)))
    server = _Server(tmp_path)
    threads: list[bool] = []
    deadlines: list[float] = []
    for name in ("judge", "audit"):
        work = getattr(Judge, name)

        def noted(*given: Any, name: str = name, work: Callable[..., Any] = work) -> Any:
            threads.append(threading.current_thread() is threading.main_thread())
            if name == "audit":
                deadlines.append(given[-1] - time.monotonic())
            return work(*given)

        monkeypatch.setattr(Judge, name, noted)
    large = changed(POD, labels={"team": "a"}, annotations={"text": "x" * size})
    assert server.send("/validate", review(large))[0] == 200
    assert threads == [size == 10] * 2
    assert 9 < deadlines[0] <= 10


@pytest.mark.parametrize("error", [InputError("x"), OSError(5, "x"), KeyError(1), RecursionError()])
def test_an_error_before_the_answer_is_a_status(
    server: _Server, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for place in ("judge", "find"):
        with monkeypatch.context() as patched:
            patched.setattr(Judge, place, _raises(error))
            assert server.send("/validate", review())[0] == 500
        assert server.lines[-1]["level"] == "error"
    assert server.send("/validate", review())[0] == 200


def _deep(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = {"a": [found]}
    return found


@contextmanager
def _within(server: _Server) -> Iterator[None]:
    """Expect the server to answer as before, with short lines in its log."""
    yield
    status, body = server.send("/validate", review())
    assert (status, json.loads(body)["response"]["allowed"]) == (200, False)
    assert all(len(json.dumps(each)) < 25_000 for each in server.lines)


_LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("content", "statuses"),
    [
        (review(changed(POD, name="\ud800", labels={"\udfff": "\ud800"})), {200}),
        (review(changed(POD, name=_LONG)), {200}),
        (review(uid=_LONG), {200}),
        (review(uid="\ud800"), {200}),
        (review(name=["x"]), {400}),
        (review({**POD, "spec": _deep(200)}), {200}),
        (b'{"a":' * 50_000, {400}),
        (review(apiVersion=1).replace(b"admission.k8s.io/v1", b"\\ud800" + _LONG.encode()), {400}),
        (review(userInfo={"username": {"a": 1}, "groups": "x", "extra": []}), {200}),
        (review(object={"metadata": []}), {400}),
        (review(operation=_LONG), {400}),
        (b'{"kind": "AdmissionReview", "apiVersion": NaN}', {400}),
        (b'{"kind": 1e999}', {400}),
        (b"1" * 5_000, {400}),
    ],
)
def test_bodies_of_any_shape_get_an_answer(
    server: _Server, content: bytes, statuses: set[int]
) -> None:
    with _within(server):
        for path in ("/validate", "/mutate"):
            status, body = server.send(path, content)
            assert status in statuses, body[:200]
            assert status == 200 or len(body) <= 1_100


def test_a_body_in_bytes_is_the_same(server: _Server) -> None:
    content = review()
    parts = [content[at : at + 1] for at in range(len(content))]
    assert server.send("/validate", *parts) == server.send("/validate", content)
    assert server.send("/validate", *(b"x" for _ in range(_MOST + 1)))[0] == 413


@pytest.mark.parametrize(
    "query", [b"timeout=" + b"9" * 100_000 + b"s", b"timeout=\xff", b"timeout=-1s", b"a&" * 9_000]
)
def test_a_timeout_of_any_shape_is_within_bounds(server: _Server, query: bytes) -> None:
    assert server.send("/validate", review(), query=query)[0] == 200


def test_labels_of_metrics_are_few(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "chartkit.addons.serve.admission.metrics"
    monkeypatch.setattr(f"{module}._MOST_SERIES", 30)
    for number in range(40):
        server.send(f"/vpol/unknown-{number}", review())
        server.send(f"/{number}", review())
        server.send("/validate", review(), method=f"M{number}")
        server.send("/validate", review(changed(POD, namespace=f"n{number}")))
    text = server.text()
    paths = [each for each in text.splitlines() if each.startswith("kyverno_http_requests_total")]
    assert {each.partition("{")[2].partition("}")[0] for each in paths} == {
        'http_method="POST",http_url="/validate"',
        'http_method="other",http_url="/validate"',
        'http_method="POST",http_url="other"',
    }
    assert text.count("kyverno_admission_requests_total{") < 31
    assert "chartkit_serve_uncounted_total " in text


def test_results_of_equal_reviews_are_counted_each(server: _Server) -> None:
    for number in range(40):
        labels = {"team": "a"} if number % 4 else {}
        dry_run = number % 2 == 0
        server.send("/validate", review(changed(POD, labels=labels), dryRun=dry_run))
    counts = Counter[tuple[str, str, str]]()
    for line in server.text().splitlines():
        if line.startswith("kyverno_policy_results_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            key = labels["policy_name"], labels["rule_result"], labels["dry_run"]
            counts[key] += int(float(line.rpartition(" ")[2]))
    assert {key: count for key, count in counts.items() if key[0] == "require-team"} == {
        ("require-team", "pass", "true"): 10,
        ("require-team", "pass", "false"): 20,
        ("require-team", "fail", "true"): 10,
    }
    assert "kyverno_policy_execution_duration_seconds_count" in server.text()


def test_a_body_of_its_declared_length_is_whole(server: _Server) -> None:
    content = review()
    length = (b"content-length", str(len(content)).encode())
    whole, half = [content], [content[:9], content[9:]]
    answer = server.send("/validate", content)
    assert server.send("/validate", *whole, b"", headers=[length]) == answer
    assert server.unread == 1
    assert server.send("/validate", *half, b"", headers=[length]) == answer
    assert server.unread == 1


def test_metrics_are_not_made_anew_for_each_that_asks(
    server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    text = server.metrics.text

    def slow() -> bytes:
        made.append(1)
        return text()

    monkeypatch.setattr(server.metrics, "text", slow)
    monkeypatch.setattr("chartkit.addons.serve.admission.metrics._SHARE", 10_000)
    for _ in range(5):
        server.text()
    assert len(made) == 1


def test_a_thread_that_fails_goes_on(server: _Server) -> None:
    server.reloader.start()
    try:
        for _ in range(500):
            if len(server.lines) > 2:
                break
            asyncio.run(asyncio.sleep(0.01))
    finally:
        server.reloader.stop()
    assert [each["message"] for each in server.lines[:3]] == ["policies are not looked at"] * 3
    assert "ZeroDivisionError" in server.lines[0]["error"]
