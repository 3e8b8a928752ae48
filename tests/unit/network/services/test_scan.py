"""`--allow-network`: policies whose answers services give, and calls that are made again."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chartkit.cli.main import main
from chartkit.engine.ports.services import BadUrlError, NotAllowedError, ServiceCall
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.http.connections import read_hosts
from chartkit.network.http.limits import pauses
from chartkit.network.services import Services
from tests.data import from_table
from tests.errors import error_of
from tests.objects import api_object
from tests.unit.network.services.service import Fault, Service, cut, no_http

TOKEN = "the-token-of-this-test"
Scan = Callable[..., tuple[str, str]]


@pytest.fixture
def scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Scan:
    """The result and message of a policy's only rule for a ConfigMap; nothing with the token."""
    monkeypatch.chdir(tmp_path)

    def run(policy: Body, *options: str, beside: tuple[Body, ...] = ()) -> tuple[str, str]:
        one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        Path("objects.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, *beside]})
        )
        Path("policy.json").write_text(json.dumps(policy))
        with pytest.raises(SystemExit):
            main(["scan", "objects.json", "-p", "policy.json", "-o", "json", *options])
        said = capsys.readouterr()
        assert TOKEN not in said.out + said.err
        results: list[Any] = json.loads(said.out)["results"]
        assert len(results) == 1, said
        return results[0]["result"], results[0]["message"]

    return run


def _rule(context: Body, key: str = "{{ got }}") -> Body:
    """A ClusterPolicy that fails with what it got."""
    never = {"all": [{"key": key, "operator": "NotEquals", "value": "never"}]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "rules": [
                {
                    "name": "r",
                    "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
                    "context": [{"name": "got", **context}],
                    "validate": {
                        "message": "got {{ to_string(got) }}",
                        "deny": {"conditions": never},
                    },
                }
            ]
        },
    }


def _call(url: str, service: Any = None, **call: Any) -> Body:
    return _rule({"apiCall": {**call, "service": {"url": url, **(service or {})}}})


def _cel(expression: str, kind: str = "ValidatingPolicy", **metadata: str) -> Body:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": "p", **metadata},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rules[0], "operations": ["CREATE"]}]},
            "validations": [{"expression": "false", "messageExpression": expression}],
        },
    }


def _error(cause: str) -> tuple[str, str]:
    place = "failed to check deny conditions: failed to substitute variables in condition key: "
    return "error", f"{place}failed to resolve got at path : {cause}"


@pytest.fixture
def answers(service: Service) -> Service:
    service.answers |= {
        "/ok": (200, b'{"a": [1, 2.5]}'),
        "/list": (200, b"[1]"),
        "/text": (200, b"hello"),
        "/trail": (200, b'{"a": 1} more'),
        "/empty": (204, b""),
        "/gone": (404, b'{"why": "gone"}'),
        "/echo": (500, f"you said Bearer {TOKEN}\x1b[31m\n".encode() + b"x" * 1000),
    }
    service.faults["/cut"] = cut
    return service


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/ok", ("fail", 'got {"a":[1,2.5]}')),
        ("/list", ("fail", "got [1]")),
        ("/gone", _error('failed to fetch data for APICall: HTTP 404 Not Found: {"why": "gone"}')),
        (
            "/echo",
            _error(
                "failed to fetch data for APICall: HTTP 500 Internal Server Error: "
                f"you said *** [31m {'x' * 282}…"
            ),
        ),
        (
            "/text",
            _error(
                "failed to store data for APICall: failed to add resource data to context entry "
                "got: invalid character 'h' looking for beginning of value"
            ),
        ),
        (
            "/empty",
            _error(
                "failed to store data for APICall: failed to add resource data to context entry "
                "got: unexpected end of JSON input"
            ),
        ),
        (
            "/cut",
            _error(
                "failed to fetch data for APICall: failed to read data from APICall got: "
                "unexpected EOF"
            ),
        ),
    ],
)
def test_an_api_call(scan: Scan, answers: Service, path: str, expected: tuple[str, str]) -> None:
    headers = [{"key": "Authorization", "value": f"Bearer {TOKEN}"}]
    policy = _call(answers.url(path), {"headers": headers})
    assert scan(policy, "--allow-network", answers.place) == expected
    assert len(answers.asked) == 1


def test_its_path_and_default(scan: Scan, answers: Service) -> None:
    allowed = ("--allow-network", answers.place)
    chosen: Body = {"jmesPath": "a", "default": {"d": 1}}
    assert scan(_call(answers.url("/ok"), **chosen), *allowed) == ("fail", "got [1,2.5]")
    for path in ("/gone", "/cut"):
        assert scan(_call(answers.url(path), **chosen), *allowed) == ("fail", 'got {"d":1}')
    text = "failed to store data for APICall: failed to apply JMESPath a for context entry got: "
    said = "failed to unmarshal JSON: hello, error: invalid character 'h' looking for beginning"
    assert scan(_call(answers.url("/text"), **chosen), *allowed) == _error(f"{text}{said} of value")


def test_what_is_posted(scan: Scan, answers: Service) -> None:
    answers.answers["/post"] = (200, b"1")
    data = [{"key": "b", "value": {"x": "<{{ request.object.metadata.name }}>"}}]
    policy = _call(answers.url("/post"), method="POST", data=[*data, {"key": "a", "value": 1.5}])
    assert scan(policy, "--allow-network", answers.place)[0] == "fail"
    assert answers.asked[0].body == b'{"a":1.5,"b":{"x":"\\u003ca\\u003e"}}\n'


def test_authorities_that_are_none(scan: Scan, answers: Service) -> None:
    said = "failed to fetch data for APICall: failed to parse PEM CA bundle for APICall got"
    policy = _call(answers.url("/ok"), {"caBundle": "garbage"})
    assert scan(policy, "--allow-network", answers.place) == _error(said)


def test_nobody_is_asked_unless_the_user_says_so(scan: Scan, answers: Service) -> None:
    policy = _call(answers.url("/ok"))
    unmade = "failed to fetch data for APICall: failed to execute HTTP request for APICall got: "
    hint = "no network to ask (--allow-network names hosts that may be asked)"
    assert scan(policy) == _error(unmade + hint)
    refused = f"{answers.place} is not asked: --allow-network does not name it"
    defaults: tuple[Body, ...] = ({}, {"default": 1})
    for default in defaults:
        result, message = scan(_call(answers.url("/ok"), **default), "--allow-network", "prices")
        assert result == "error"
        assert message.endswith(f"context entry got: the call cannot be made: {refused}")
    post = "http.Post(" + json.dumps(answers.url("/ok")) + ", {})"
    said = "failed to evaluate message expression: request failed: "
    assert scan(_cel(f"string({post}.a)")) == ("fail", said + hint)
    allowed = ("--allow-network", "prices")
    assert scan(_cel(f"string({post}.a)"), *allowed) == ("fail", said + refused)
    assert answers.asked == []


def test_a_value_comes_first(scan: Scan, answers: Service) -> None:
    values = {"policies": [{"name": "p", "rules": [{"name": "r", "values": {"got": "given"}}]}]}
    kind = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "metadata": {"name": "v"}}
    Path("values.json").write_text(json.dumps({**kind, **values}))
    policy = _call(answers.url("/ok"))
    found = scan(policy, "-f", "values.json", "--allow-network", answers.place)
    assert (found, answers.asked) == (("fail", "got given"), [])


@from_table("path", "said")
def test_an_expression(scan: Scan, answers: Service, path: str, said: str) -> None:
    headers = json.dumps({"Authorization": f"Bearer {TOKEN}"})
    policy = _cel(f"json.marshal(http.Get({json.dumps(answers.url(path))}, {headers}))")
    assert scan(policy, "--allow-network", answers.place) == ("fail", said)
    assert answers.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


@from_table("url", "said")
def test_an_expression_that_asks_nobody(scan: Scan, url: str, said: str) -> None:
    policy = _cel(f"json.marshal(http.Get({json.dumps(url)}))")
    place = "failed to evaluate message expression: request failed: "
    assert scan(policy, "--allow-network", "prices") == ("fail", place + said)


def test_an_expression_of_a_namespaced_policy(scan: Scan, answers: Service) -> None:
    call = f"json.marshal(http.Get({json.dumps(answers.url('/ok'))}))"
    policy = _cel(call, "NamespacedValidatingPolicy", namespace="default")
    result, message = scan(policy, "--allow-network", answers.place)
    said = "request failed: http calls are not allowed in namespaced policies: set"
    assert (result, answers.asked) == ("fail", [])
    assert said in message


def test_namespaced_policies_where_the_controllers_let_them(
    scan: Scan, answers: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    call = f"json.marshal(http.Get({json.dumps(answers.url('/ok'))}))"
    policy = _cel(call, "NamespacedValidatingPolicy", namespace="default")
    allowed = "--allow-http-in-namespaced-policies"
    found = scan(policy, "--allow-network", answers.place, allowed)
    assert found == ("fail", '{"a":[1,2.5],"statusCode":200}')
    assert "is not asked" in scan(policy, allowed, "--allow-network", "prices")[1]
    for options, warnings in (((), 1), ((allowed,), 0)):
        with pytest.raises(SystemExit):
            main(["scan", "objects.json", "-p", "policy.json", *options])
        said = capsys.readouterr().err.count("http.* is not allowed in namespaced policies")
        assert said == warnings


def test_a_global_context_entry(scan: Scan, answers: Service) -> None:
    entry: Body = {
        "apiVersion": "kyverno.io/v2beta1",
        "kind": "GlobalContextEntry",
        "metadata": {"name": "held"},
        "spec": {
            "apiCall": {"service": {"url": answers.url("/ok")}},
            "projections": [{"name": "first", "jmesPath": "a[0]"}],
        },
    }
    policy = _rule({"globalReference": {"name": "held.first"}})
    allowed = ("--allow-network", answers.place)
    assert scan(policy, *allowed, beside=(entry,)) == ("fail", "got 1")
    assert "no data available" in scan(policy, beside=(entry,))[1]
    refused = scan(policy, "--allow-network", "prices", beside=(entry,))
    assert "is not asked" in refused[1]
    entry["spec"]["apiCall"]["service"]["url"] = answers.url("/gone")
    assert "HTTP 404 Not Found" in scan(policy, *allowed, beside=(entry,))[1]


def test_scan_preview(answers: Service, scan: Scan, capsys: pytest.CaptureFixture[str]) -> None:
    scan(_call(answers.url("/ok")))
    policy = _call(answers.url("/ok"))
    rule = policy["spec"]["rules"][0]
    del rule["validate"]
    labels = {"metadata": {"labels": {"first": "{{ to_string(got.a[0]) }}"}}}
    rule["mutate"] = {"patchStrategicMerge": labels}
    Path("policy.json").write_text(json.dumps(policy))
    allowed = ("--allow-network", answers.place)
    with pytest.raises(SystemExit) as ended:
        main(["preview", "objects.json", "-p", "policy.json", "-o", "json", *allowed])
    assert not ended.value.code
    made = json.loads(capsys.readouterr().out)["previews"][0]["made"][0]["after"]
    assert made["metadata"]["labels"]["first"] == "1"


def test_an_option_that_cannot_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert error_of(SystemExit, main, ["scan", ".", "--allow-network", "*"]).code == 2
    assert "wildcards are not allowed (name each host" in capsys.readouterr().err


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
    entry = api_object("kyverno.io/v2", "GlobalContextEntry", "held", spec={"apiCall": call})
    condition = {"key": "{{ got.a }}", "operator": "Equals", "value": 1}
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "context": [{"name": "got", "globalReference": {"name": "held"}}],
        "validate": {"message": "one", "deny": {"conditions": {"any": [condition]}}},
    }
    policy = api_object("kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": [rule]})
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
