"""One guard for downloads, registries and services: names, redirects, and the peer itself."""

import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from chartkit.engine.ports.services import ServiceCall
from chartkit.errors import ChartkitError
from chartkit.network.http.connections import (
    Dial,
    Hop,
    anywhere,
    encrypted,
    login_of,
    proxy_of,
    read_hosts,
    through,
)
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.transport import Route
from chartkit.network.http.urls import HostPort, Url, literal, read_url, shown_url
from chartkit.network.services import Services
from tests.unit.network.downloads.hostile_server import body, redirect, serving
from tests.unit.network.http.users import USERS, Refusal, download_refusal, registry_refusal

Resolve = Callable[..., None]
_OUTSIDE = "93.184.215.14"


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Has names lead to addresses, one list after the other for each further question."""
    known: dict[str, list[Sequence[str]]] = {}

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        answers = known.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return lambda host, *answers: known.update({host: list(answers)})


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are connected to, none of which is reached."""
    asked: list[str] = []

    def create_connection(place: tuple[str, int], *_: Any, **__: Any) -> socket.socket:
        asked.append(place[0])
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", create_connection)
    return asked


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "answers",
    [
        ["169.254.169.254"],
        [_OUTSIDE, "169.254.169.254"],
        ["169.254.1.1", _OUTSIDE],
        ["::a9fe:a9fe"],
        ["64:ff9b:1::a9fe:a9fe"],
        ["2001:0:a9fe:a9fe::"],
        ["2001::5601:5601"],
        ["fe80::1%eth0"],
        ["100.100.100.200"],
        ["0.0.0.0"],
    ],
)
def test_guard_names_that_lead_to_forbidden_addresses(
    user: Refusal, answers: Sequence[str], resolve: Resolve, dialled: list[str]
) -> None:
    resolve("service.example", answers)
    said = user("http://service.example:80/x?token=hidden")
    assert (
        "does not connect to" in said or "link-local address or a cloud's metadata service" in said
    )
    assert dialled == []


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", ["metadata.google.internal", "METADATA.goog"])
def test_names_of_metadata_services(
    user: Refusal, name: str, resolve: Resolve, dialled: list[str]
) -> None:
    resolve(name, [_OUTSIDE])
    assert "does not connect to" in user(f"http://{name}:80/x")
    assert dialled == []


@pytest.mark.parametrize("user", USERS)
def test_the_address_that_was_checked_is_the_one_that_is_asked(
    user: Refusal, resolve: Resolve, dialled: list[str]
) -> None:
    resolve("service.example", [_OUTSIDE], ["169.254.169.254"])
    user("http://service.example:80/x")
    assert set(dialled) == {_OUTSIDE}


@pytest.mark.parametrize("user", USERS)
def test_the_peer_is_looked_at_before_anything_is_sent(
    user: Refusal, resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(socket.socket):
        def getpeername(self) -> Any:
            return ("169.254.169.254", 80)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        reached = Elsewhere()
        reached.connect(listening.getsockname())
        monkeypatch.setattr(socket, "create_connection", lambda *_, **__: reached)
        resolve("service.example", [_OUTSIDE])
        said = user("http://service.example:80/x")
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(30)
            assert connection.recv(100) == b""
    assert "does not connect to" in said or "link-local" in said


_LEADS = [
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "http://[::a9fe:a9fe]/",
    "https://[64:ff9b:1::a9fe:a9fe]/",
    "https://[2001:0:a9fe:a9fe::]/",
    "https://0xa9fea9fe/",
    "https://metadata.google.internal/",
    "//169.254.169.254/x",
]


@pytest.mark.parametrize("user", [download_refusal, registry_refusal])
@pytest.mark.parametrize("target", _LEADS)
def test_redirects_to_forbidden_addresses(user: Refusal, target: str) -> None:
    answers = {"/x?token=hidden": redirect(target), "/v2/team/app/manifests/1": redirect(target)}
    with serving(answers) as server:
        said = user(f"{server.url}/x?token=hidden")
        assert len(server.asked) == 1
    assert "does not connect to" in said or "redirects to" in said
    assert "hidden" not in said


@pytest.mark.parametrize("target", _LEADS)
def test_redirects_of_services_to_forbidden_addresses(target: str) -> None:
    with serving({"/x": redirect(target)}) as server:
        services = Services(read_hosts([server.url.removeprefix("http://")]))
        with pytest.raises(ChartkitError, match="is not asked"):
            services.ask(ServiceCall("GET", f"{server.url}/x"))


def _hop(name: str, address: str) -> Hop:
    """What led to a redirect: a host, and where it was."""
    dial = Dial(HostPort(name, 443))
    dial.reached = literal(address)
    return Hop(read_url(f"https://{name}/x"), dial)


@pytest.mark.parametrize("route", [anywhere, encrypted])
@pytest.mark.parametrize("inside", ["10.0.0.1", "192.168.0.1", "127.0.0.1", "::1", "100.64.0.1"])
@pytest.mark.parametrize("by_name", [True, False])
def test_redirects_from_outside_into_a_private_network(
    route: Route, inside: str, by_name: bool, resolve: Resolve, dialled: list[str]
) -> None:
    resolve("inner.example", [inside])
    host = "inner.example" if by_name else f"[{inside}]" if ":" in inside else inside
    with pytest.raises(NetworkError) as caught:
        route(read_url(f"https://{host}/y"), [_hop("a.example", _OUTSIDE)]).connect(1)
    assert caught.value.fault is Fault.INSIDE
    assert dialled == []


def test_redirects_inside_a_private_network_are_followed() -> None:
    path = [_hop("a.corp.example", "10.0.0.1")]
    assert not anywhere(read_url("https://b.corp.example/y"), path).outside


@pytest.mark.parametrize(
    ("url", "named", "is_direct"),
    [
        ("https://a.example/x", "", False),
        ("https://a.example/x", "*", True),
        ("https://a.example/x", "b.example, a.example", True),
        ("https://b.a.example/x", ".a.example", True),
        ("https://ba.example/x", "a.example", False),
        ("https://A.example./x", "a.EXAMPLE", True),
        ("https://a.example/x", "a.example:443", True),
        ("https://a.example:8443/x", "a.example:443", False),
        ("https://198.51.100.7/x", "198.51.100.0/24", True),
        ("https://198.51.100.7/x", "198.51.100.8/33,198.51.100.7", True),
        ("https://198.51.100.7/x", "198.51.101.0/24", False),
        ("https://[2001:db8::1]:8443/x", "2001:db8::/32", True),
        ("http://127.0.0.1/x", "", True),
    ],
)
def test_hosts_that_no_proxy_names_are_asked_directly(
    url: str, named: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert proxy_of(read_url(url)) == ""
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", named)
    assert proxy_of(read_url(url)) == ("" if is_direct else "http://proxy.example:3128")


def test_a_proxy_is_told_its_user() -> None:
    def sent(proxy: str) -> object:
        return through(proxy, ssl.create_default_context()).proxy_headers

    assert sent("http://me:p%40ss@proxy.example") == {"Proxy-Authorization": "Basic bWU6cEBzcw=="}
    assert sent("http://proxy.example") == sent("http://me@proxy.example") == {}


@pytest.mark.parametrize("text", ["machine", "\xff\xfe", "machine a.example\n", None])
def test_a_netrc_without_a_password_says_nothing(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    if text is not None:
        netrc.write_text(text, "latin-1")
    monkeypatch.setenv("NETRC", str(netrc))
    assert login_of(read_url("https://a.example/x")) == ""


def test_passwords_of_netrc_are_for_downloads_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine service.example login me password s3cret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    assert login_of(read_url("https://service.example/x")) == "Basic bWU6czNjcmV0"
    assert login_of(read_url("https://other.example/x")) == ""
    asked: list[str] = []

    def look_up(url: Url) -> str:
        asked.append(url.host_port.host)
        return ""

    monkeypatch.setattr("chartkit.network.http.transport.login_of", look_up)
    for user in (download_refusal, registry_refusal):
        gone = body(b"", "404 Not Found")
        with serving({"/x": gone, "/v2/team/app/manifests/1": gone}) as server:
            user(f"{server.url}/x")
    assert asked == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@a.example/x?token=hidden#part", "https://a.example/x"),
        ("https://a.example?token=hidden", "https://a.example"),
        ("https://a.example/\x1b[31m\nx", "https://a.example/[31mx"),
        ("https://a.example/@x", "https://a.example/@x"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_url(url) == shown
