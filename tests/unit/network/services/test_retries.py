"""Calls that are made again where they fail: those of GlobalContextEntries."""

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chartkit.cli.main import main
from chartkit.engine.ports.services import BadUrlError, NotAllowedError, ServiceCall
from chartkit.errors import LookupFailed
from chartkit.network.http.connections import read_hosts
from chartkit.network.http.limits import pauses
from chartkit.network.services import Services
from tests.unit.network.services.service import Fault, Service, cut, no_http


def _first(service: Service, times: int, fault: Fault) -> None:
    """Lets the first calls of a path fail."""

    def failing(handler: Any) -> None:
        if len(service.asked) == times:
            del service.faults["/x"]
        fault(handler)

    service.answers["/x"] = (200, b'{"a": 1}')
    service.faults["/x"] = failing


def _gone(handler: Any) -> None:
    handler.send_error(404)


@pytest.mark.parametrize("fault", [_gone, cut, no_http], ids=["gone", "cut", "no HTTP"])
@pytest.mark.parametrize(("times", "is_found"), [(0, True), (2, True), (3, False)])
def test_a_call_is_made_again(service: Service, fault: Fault, times: int, is_found: bool) -> None:
    if times:
        _first(service, times, fault)
    else:
        service.answers["/x"] = (200, b"1")
    services = Services(read_hosts([service.place]))
    for _ in range(2):
        try:
            found = services.ask(ServiceCall("GET", service.url("/x"), tries=3)).is_success
        except LookupFailed:
            found = False
        assert found == is_found
        assert len(service.asked) == max(1, min(times + 1, 3))


def test_any_other_call_is_made_once(service: Service) -> None:
    _first(service, 1, _gone)
    services = Services(read_hosts([service.place]))
    assert services.ask(ServiceCall("GET", service.url("/x"))).status == 404
    assert services.ask(ServiceCall("GET", service.url("/x"), tries=3)).status == 200


@dataclass
class _Nobody:
    """Names that lead nowhere, and who asked for them."""

    asked: list[str] = field(default_factory=list)

    def __call__(self, host: str, _port: int) -> Any:
        self.asked.append(host)
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    def call(self, services: Services, path: str = "", tries: int = 3) -> None:
        with pytest.raises(LookupFailed):
            services.ask(ServiceCall("GET", f"http://prices/{path}", tries=tries))


def test_nobody_there_is_asked_again() -> None:
    nobody = _Nobody()
    services = Services(read_hosts(["prices"]), resolver=nobody)
    nobody.call(services)
    assert len(nobody.asked) == 3
    nobody.call(services, "other", tries=1)
    assert len(nobody.asked) == 3


@pytest.mark.parametrize(
    ("url", "raised"), [("http://other/", NotAllowedError), ("http://a b/", BadUrlError)]
)
def test_what_cannot_come_to_anything_else(
    monkeypatch: pytest.MonkeyPatch, url: str, raised: type[LookupFailed]
) -> None:
    def never(_seconds: float) -> None:
        raise AssertionError

    monkeypatch.setattr("time.sleep", never)
    with pytest.raises(raised):
        Services(read_hosts(["prices"])).ask(ServiceCall("GET", url, tries=3))


def test_the_patience_is_for_all_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 20.0, 40.0))
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: next(times), sleep=slept.append)
    monkeypatch.setattr("chartkit.network.services.time", clock)
    nobody = _Nobody()
    nobody.call(Services(read_hosts(["prices"]), resolver=nobody), tries=9)
    assert (len(nobody.asked), slept) == (2, [0.01])


def test_retries_pauses() -> None:
    assert list(pauses(1)) == []
    assert list(pauses(3)) == pytest.approx([0.01, 0.05])
    assert list(pauses(10**9)) == pytest.approx([0.01, 0.05, 0.25, 1.25])


@pytest.mark.parametrize(("limit", "result"), [(None, "fail"), (2, "error"), (3, "fail")])
def test_an_entry_of_the_global_context(
    service: Service,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    limit: int | None,
    result: str,
) -> None:
    _first(service, 2, _gone)
    call = {"service": {"url": service.url("/x")}, **({"retryLimit": limit} if limit else {})}
    entry = {
        "apiVersion": "kyverno.io/v2",
        "kind": "GlobalContextEntry",
        "metadata": {"name": "held"},
        "spec": {"apiCall": call},
    }
    condition = {"key": "{{ got.a }}", "operator": "Equals", "value": 1}
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "context": [{"name": "got", "globalReference": {"name": "held"}}],
        "validate": {"message": "one", "deny": {"conditions": {"any": [condition]}}},
    }
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [rule]},
    }
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    objects = {"apiVersion": "v1", "kind": "List", "items": [one, entry]}
    (tmp_path / "objects.json").write_text(json.dumps(objects))
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    words = ["scan", str(tmp_path / "objects.json"), "-p", str(tmp_path / "policy.json")]
    with pytest.raises(SystemExit):
        main([*words, "--allow-network", service.place, "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert (found["result"], len(service.asked)) == (result, min(limit or 3, 3))
    assert ("HTTP 404 Not Found" in found["message"]) == (result == "error")
