"""Calls: what is sent, whom it may reach, what comes back and what is refused."""

import socket
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.engine.ports.services import (
    MOST_BYTES,
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceAnswer,
    ServiceCall,
)
from chartkit.errors import InputError, LookupFailed
from chartkit.network.http.connections import read_hosts
from chartkit.network.http.urls import HostPort
from chartkit.network.services import Limits, Services
from tests.data import from_table
from tests.loopback import at_length
from tests.self_signed import self_signed
from tests.unit.network.services.service import (
    Fault,
    Service,
    cut,
    huge,
    no_http,
    serving,
    silent,
    trickling,
)

TOKEN = "the-token-of-this-test"
AUTHORIZED = (("Authorization", f"Bearer {TOKEN}"), ("X-Key", "another-secret"), ("Accept", "a/b"))
NAME = "prices.shop.svc"


def _services(*named: str, limits: Limits | None = None, **names: Any) -> Services:
    """names: the addresses of `NAME` and of any other host."""

    def resolver(host: str, _port: int) -> Sequence[str]:
        found: Sequence[str] | None = names.get(host.partition(".")[0])
        if found is None:
            raise OSError
        return found

    return Services(read_hosts(named), limits, resolver)


def _get(services: Services, url: str, **given: Any) -> ServiceAnswer:
    return services.ask(replace(ServiceCall("GET", url), **given))


def _error(services: Services, url: str, **given: Any) -> LookupFailed:
    with pytest.raises(LookupFailed) as raised:
        _get(services, url, **given)
    assert TOKEN not in str(raised.value)
    return raised.value


def test_an_answer_and_its_status(service: Service) -> None:
    service.answers["/ok?of=eu"] = (200, b'{"a": 1}')
    service.answers["/gone"] = (410, b"was here")
    services = _services(service.place)
    assert _get(services, service.url("/ok?of=eu#there")) == ServiceAnswer(200, "OK", b'{"a": 1}')
    assert _get(services, service.url("/gone")) == ServiceAnswer(410, "Gone", b"was here")
    agent = service.asked[0].headers["user-agent"]
    assert agent.startswith("chartkit/")


def test_what_is_sent(service: Service) -> None:
    service.answers["/"] = (200, b"{}")
    headers = (
        ("X-Team", "é"),
        ("Host", "elsewhere"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("User-Agent", "mine"),
    )
    call = ServiceCall("POST", service.url("/"), headers, b'{"b":1}\n')
    _services(service.place).ask(call)
    asked = service.asked[0]
    assert (asked.method, asked.body) == ("POST", b'{"b":1}\n')
    assert asked.headers["x-team"].encode("latin-1").decode() == "é"
    assert asked.headers["host"] == service.place
    assert asked.headers["content-length"] == "8"
    assert asked.headers["user-agent"] == "mine"
    assert "transfer-encoding" not in asked.headers
    assert "content-type" not in asked.headers


def test_the_user_of_a_url(service: Service) -> None:
    service.answers["/"] = (200, b"{}")
    url = f"http://me:{TOKEN}@{service.place}/"
    services = _services(service.place)
    _get(services, url)
    assert service.asked[0].headers["authorization"].startswith("Basic ")
    _get(services, url, headers=(("authorization", "mine"),))
    assert service.asked[1].headers["authorization"] == "mine"


def test_each_call_is_made_once(service: Service) -> None:
    service.answers["/"] = (200, b"{}")
    services = _services(service.place, f"localhost:{service.port}=127.0.0.1:{service.port}")
    call = ServiceCall("GET", service.url("/"))
    for other in (call, call, replace(call, headers=(("A", "b"),)), replace(call, method="POST")):
        services.ask(other)
    assert len(service.asked) == 3
    for _ in range(2):
        assert "unsupported protocol" in _error(services, "ftp://a/").message


def test_what_is_remembered_is_bounded(service: Service) -> None:
    service.answers["/a"] = service.answers["/b"] = (200, b"x" * 5000)
    services = _services(service.place, limits=Limits(remembered=8000))
    for path in ("/a", "/b", "/b", "/a"):
        _get(services, service.url(path))
    assert [asked.path for asked in service.asked] == ["/a", "/b", "/a"]


@pytest.mark.parametrize("fault", [cut, huge])
def test_answers_that_do_not_end_well(service: Service, fault: Fault) -> None:
    service.faults["/"] = fault
    answer = _get(_services(service.place), service.url("/"))
    if fault is cut:
        assert answer == ServiceAnswer(200, "OK", b'{"a": 1', Ending.CUT)
    else:
        assert answer.ending is Ending.TOO_LARGE
        assert len(answer.body) == MOST_BYTES


@pytest.mark.parametrize("fault", [silent, trickling])
def test_a_service_that_is_too_slow_is_left_alone(service: Service, fault: Fault) -> None:
    service.faults["/"] = fault
    services = _services(service.place, limits=Limits(patience=0.5))
    said = f'Get "{service.url("/")}": no answer within 0.5 seconds'
    assert _error(services, service.url("/?key=1")).message == said
    assert "no answer within" in _error(services, service.url("/other")).message
    assert at_length(lambda: bool(service.asked))
    assert len(service.asked) == 1


def test_service_client_nobody_there(service: Service) -> None:
    service.faults["/"] = no_http
    services = _services(service.place, "127.0.0.1:1", "nowhere:80", "both", both=["127.0.0.1"])
    said = 'Get "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused'
    assert _error(services, "http://me:pass@127.0.0.1:1/x?token=abc").message == said
    text = _error(services, "http://nowhere/").message
    assert text == 'Get "http://nowhere/": dial tcp: lookup nowhere: no such host'
    assert "malformed HTTP response" in _error(services, service.url("/")).message
    text = _error(services, "http://both/").message
    assert text.startswith('Get "http://both/": dial tcp 127.0.0.1:80: connect: ')


def test_a_handshake_that_takes_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        place = f"127.0.0.1:{listening.getsockname()[1]}"
        services = _services(place, limits=Limits(connect=0.3))
        error = _error(services, f"https://{place}/")
    assert error.message.endswith("net/http: TLS handshake timeout")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("foo", 'Get "foo": unsupported protocol scheme ""'),
        ("file:///etc/passwd", 'Get "file:///etc/passwd": unsupported protocol scheme "file"'),
        ("http:///x", 'parse "http:///x": no host in the URL'),
        ("http://a b/?token=x", 'parse "http://a b/": invalid character " " in host name'),
        ("http://a\\b/", 'parse "http://a\\\\b/": invalid character "\\\\" in host name'),
        ("http://a\r\nX: y/", 'parse "http://aX: y/": net/url: invalid control character in URL'),
        ("http://a:99999/", 'parse "http://a:99999/": invalid URL'),
        (f"http://{'a' * 300}/", f'parse "http://{"a" * 193}…": no host in the URL'),
    ],
)
def test_what_is_no_url(url: str, said: str) -> None:
    error = _error(_services(), url)
    assert error.message == said
    assert isinstance(error, BadUrlError) == said.startswith("parse")


def test_headers_that_are_none(service: Service) -> None:
    services = _services(service.place)
    text = _error(services, service.url("/"), headers=(("A b", TOKEN),)).message
    assert text.endswith('net/http: invalid header field name "A b"')
    text = _error(services, service.url("/"), headers=(("Auth", f"{TOKEN}\r\nX: y"),)).message
    assert text.endswith('net/http: invalid header field value for "Auth"')
    assert service.asked == []


@from_table("url")
def test_who_is_not_named_is_not_asked(url: str) -> None:
    def resolver(host: str, _port: int) -> Sequence[str]:
        raise AssertionError(host)

    services = Services(read_hosts([NAME]), None, resolver)
    with pytest.raises((NotAllowedError, BadUrlError)) as raised:
        services.ask(ServiceCall("GET", url))
    if isinstance(raised.value, NotAllowedError):
        assert raised.value.message.endswith("is not asked: --allow-network does not name it")


@from_table("addresses")
def test_service_client_names_that_lead_to_forbidden_addresses(addresses: Sequence[str]) -> None:
    error = _error(_services(NAME, prices=addresses), f"http://{NAME}/")
    assert isinstance(error, NotAllowedError)
    said = "its name leads to a link-local address or a cloud's metadata service"
    assert error.message == f"{NAME}:80 is not asked: {said}"


def test_the_address_that_is_checked_is_the_one_that_is_asked(service: Service) -> None:
    service.answers["/"] = (200, b"1")
    given = iter([["127.0.0.1"], ["169.254.169.254"]])
    services = Services(read_hosts([f"{NAME}:{service.port}"]), None, lambda *_: next(given))
    assert _get(services, f"http://{NAME}:{service.port}/").body == b"1"
    assert service.asked[0].headers["host"] == f"{NAME}:{service.port}"


def test_service_client_another_in_its_place(service: Service) -> None:
    service.answers["/"] = (200, b"1")
    services = _services(f"{NAME}={service.place}")
    assert _get(services, f"http://{NAME.upper()}./").body == b"1"
    assert service.asked[0].headers["host"].lower().startswith(NAME)


def test_service_client_redirects(service: Service) -> None:
    service.answers["/end"] = (200, b"end")
    for status in (301, 302, 303, 307, 308):
        service.moves(f"/{status}", "/end", status)
    service.moves("/round", "/round")
    service.answers["/nowhere"] = (302, b"here")
    services = _services(service.place)
    for status in (301, 302, 303, 307, 308):
        call = ServiceCall("POST", service.url(f"/{status}"), AUTHORIZED, b"{}")
        assert services.ask(call).body == b"end"
        asked = service.asked[-1]
        kept = status in (307, 308)
        assert (asked.method, asked.body) == (("POST", b"{}") if kept else ("GET", b""))
        assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert _error(services, service.url("/round")).message.endswith("stopped after 10 redirects")
    assert _get(services, service.url("/nowhere")).body == b"here"


def test_no_secret_goes_elsewhere(service: Service, other: Service) -> None:
    other.answers["/end?a=b"] = (200, b"end")
    service.moves("/", other.url("/end?a=b"))
    services = _services(service.place, other.place)
    url = f"http://me:{TOKEN}@{service.place}/"
    assert _get(services, url, headers=AUTHORIZED[1:]).body == b"end"
    assert "authorization" in service.asked[0].headers
    assert set(other.asked[0].headers) == {"host", "accept"} | {"accept-encoding", "user-agent"}


@from_table("location", "said")
def test_redirects_to_who_is_not_named(service: Service, location: str, said: str) -> None:
    service.moves("/", location)
    error = _error(_services(service.place), service.url("/?token=x"), headers=AUTHORIZED)
    assert isinstance(error, NotAllowedError)
    way = f'"{service.url("/")}" redirects there, and --allow-network does not name it'
    assert error.message == said + way


def test_redirects_do_not_lead_inside(service: Service) -> None:
    service.answers["/x"] = (200, b"x")
    port = service.port
    service.moves("/", f"http://inner.example:{port}/x")
    inside: dict[str, Any] = {"prices": ["127.0.0.1"], "inner": ["10.0.0.1"]}
    services = _services(f"{NAME}:{port}", f"inner.example:{port}", **inside)
    error = _error(services, f"http://{NAME}:{port}/")
    assert isinstance(error, NotAllowedError)
    assert "a redirect leads to an address of this machine, of a private network" in error.message
    services = _services(f"{NAME}:{port}", f"inner.example:{port}=127.0.0.1", **inside)
    assert _get(services, f"http://{NAME}:{port}/").body == b"x"


def test_nor_later_when_a_name_leads_elsewhere(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = service.port
    service.moves("/", f"http://inner.example:{port}/x")
    service.moves("/x", "/y")
    inside = iter([False, False, True])
    monkeypatch.setattr(
        "chartkit.network.http.connections.is_inside", lambda _address: next(inside)
    )
    names: dict[str, Any] = {"prices": ["127.0.0.1"], "inner": ["127.0.0.1"]}
    services = _services(f"{NAME}:{port}", f"inner.example:{port}", **names)
    assert isinstance(_error(services, f"http://{NAME}:{port}/"), NotAllowedError)
    assert [asked.path for asked in service.asked] == ["/", "/x"]


@from_table("location", "said")
def test_redirects_to_nowhere(service: Service, location: str, said: str) -> None:
    service.moves("/", location)
    error = _error(_services(service.place), service.url("/"), headers=AUTHORIZED)
    assert said in error.message


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and its key."""
    return self_signed(tmp_path_factory.mktemp("service"))


def test_service_client_encryption(certificate: Path, service: Service) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    pem = certificate.with_name("crt.pem").read_text()
    service.answers["/"] = (200, b"plain")
    with serving(context) as secured:
        secured.answers["/"] = (200, b"1")
        secured.moves("/down", service.url("/"))
        named = f"{NAME}:443={secured.place}"
        services = _services(secured.place, service.place, f"localhost:{secured.port}", named)
        url = secured.url("/")
        said = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        assert _error(services, url).message == f'Get "{url}": {said}'
        assert _get(services, url, authorities=f"garbage\n{pem}").body == b"1"
        assert _error(services, url, authorities="garbage").message
        error = _error(services, f"https://{NAME}/", authorities=pem)
        assert "x509: Hostname mismatch" in error.message
        error = _error(services, secured.url("/down"), authorities=pem)
        assert "an encrypted call does not become a plain one" in error.message
        assert "tls: " in _error(services, f"https://{service.place}/").message


@from_table("named", "scheme", "host", "port")
def test_service_hosts_named(named: str, scheme: str, host: str, port: int) -> None:
    found = read_hosts([named]).find(scheme, HostPort(host, port))
    assert found is not None
    assert found.reached_at(port) == HostPort(host, port)


@from_table("named", "scheme", "host", "port")
def test_not_named(named: str, scheme: str, host: str, port: int) -> None:
    assert read_hosts([named]).find(scheme, HostPort(host, port)) is None


def test_service_hosts_another_in_its_place() -> None:
    allowed = read_hosts(["prices.shop.svc:80=localhost:18080", "checks=localhost"])
    found = allowed.find("http", HostPort("prices.shop.svc", 80))
    assert found is not None
    assert found.reached_at(80) == HostPort("localhost", 18080)
    assert found.is_itself
    found = allowed.find("https", HostPort("checks", 443))
    assert found is not None
    assert found.reached_at(443) == HostPort("localhost", 443)


@from_table("named", "said")
def test_service_hosts_refused(named: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_hosts([named])


def test_one_host_with_two_meanings() -> None:
    read_hosts(["a:80", "a:80", "a"])
    with pytest.raises(InputError, match="names a twice, and not alike"):
        read_hosts(["a:80", "a:80=b"])
