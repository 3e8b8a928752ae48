"""One guard for downloads, registries and services: names, addresses, redirects, the peer."""

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.signatures.source import body_key, question_key
from chartkit.engine.ports.services import ServiceCall
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.errors import ChartkitError, LookupFailed
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
from chartkit.network.http.limits import Memory
from chartkit.network.http.transport import Route
from chartkit.network.http.urls import (
    HostPort,
    Url,
    is_forbidden,
    is_forbidden_host,
    is_inside,
    literal,
    read_url,
    shown_url,
)
from chartkit.network.services import Services
from tests.data import from_table, tables
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
@from_table("answers")
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


_LEADS = tables(__file__)["leads"]


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


@from_table("url", "named", "is_direct")
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


@from_table("url", "shown")
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def _counting(answer: str | LookupFailed) -> tuple[Callable[[], str], list[None]]:
    calls: list[None] = []

    def find() -> str:
        calls.append(None)
        if isinstance(answer, LookupFailed):
            raise answer
        return answer

    return find, calls


def test_an_answer_is_found_once() -> None:
    memory: Memory[str, str] = Memory(2)
    find, calls = _counting("yes")
    assert [memory.once("a", find), memory.once("a", find)] == ["yes", "yes"]
    assert len(calls) == 1


def test_a_verdict_is_an_answer() -> None:
    memory: Memory[str, str] = Memory(2)
    find, calls = _counting(SignatureError("nobody signed"))
    for _ in range(2):
        with pytest.raises(SignatureError, match="nobody signed"):
            memory.once("a", find)
    assert len(calls) == 1


def test_the_oldest_is_forgotten() -> None:
    memory: Memory[str, str] = Memory(2)
    find, calls = _counting("yes")
    for key in ("a", "b", "c", "b", "a"):
        memory.once(key, find)
    assert len(calls) == 4


def _others(question: VerificationRequest) -> Iterator[VerificationRequest]:
    yield replace(question, image="example.com/other")
    yield replace(question, annotations={"team": "b"})
    yield replace(question, extensions={"team": "a"})
    yield replace(question, attestations=True)
    yield replace(question, ignores_log=True)


def test_questions_are_told_apart() -> None:
    question = VerificationRequest("example.com/app", annotations={"team": "a"})
    assert question_key(question) == question_key(replace(question))
    keys = {question_key(one) for one in (question, *_others(question))}
    assert len(keys) == 6


def test_bodies_are_told_apart() -> None:
    assert body_key({"a": 1, "b": 2}) == body_key({"b": 2, "a": 1})
    assert body_key({"a": 1}) != body_key({"a": 2})
    assert body_key({"a": 1}, {}) != body_key({}, {"a": 1})


Form = Callable[[IPv4Address, int], IPv6Address]
"""An IPv6 address that leads to one of IPv4; given: what fills the bits that do not matter."""


def _under(prefix: str) -> Form:
    base = int(IPv6Address(prefix))
    return lambda address, _rest: IPv6Address(base | int(address))


def _six_to_four(address: IPv4Address, rest: int) -> IPv6Address:
    return IPv6Address(0x2002 << 112 | int(address) << 80 | rest & (1 << 80) - 1)


def _teredo_client(address: IPv4Address, rest: int) -> IPv6Address:
    hidden = int(address) ^ 0xFFFFFFFF
    return IPv6Address(0x20010000 << 96 | (rest & (1 << 64) - 1) << 32 | hidden)


def _teredo_server(address: IPv4Address, rest: int) -> IPv6Address:
    return IPv6Address(0x20010000 << 96 | int(address) << 64 | rest & (1 << 64) - 1)


def _isatap(bits: int) -> Form:
    def form(address: IPv4Address, rest: int) -> IPv6Address:
        return IPv6Address((rest & (1 << 64) - 1) << 64 | bits << 32 | int(address))

    return form


def _local_nat64(length: int) -> Form:
    """RFC 6052, 2.2: the bits after the prefix, of which those from 64 to 71 are left out."""

    def form(address: IPv4Address, rest: int) -> IPv6Address:
        base = int(IPv6Address("64:ff9b:1::"))
        free = rest & (1 << length - 48) - 1
        number = base | free << 128 - length
        bits = [at for at in range(length, 128) if not 64 <= at < 72 or length == 96][:32]
        for at, bit in zip(bits, f"{int(address):032b}", strict=True):
            number |= int(bit) << 127 - at
        if length == 96:
            number &= ~(0xFF << 56)
        return IPv6Address(number)

    return form


FORMS: dict[str, Form] = {
    "compatible": _under("::"),
    "mapped": _under("::ffff:0:0"),
    "translated": _under("::ffff:0:0:0"),
    "NAT64": _under("64:ff9b::"),
    "local NAT64, 96": _local_nat64(96),
    "local NAT64, 64": _local_nat64(64),
    "local NAT64, 56": _local_nat64(56),
    "local NAT64, 48": _local_nat64(48),
    "6to4": _six_to_four,
    "Teredo client": _teredo_client,
    "Teredo server": _teredo_server,
    "ISATAP": _isatap(0x00005EFE),
    "ISATAP, global": _isatap(0x02005EFE),
}
_LINK_LOCAL = st.integers(0, 0xFFFF).map(lambda last: IPv4Address(0xA9FE0000 | last))
_METADATA = st.sampled_from(
    [IPv4Address(each) for each in ("100.100.100.200", "192.0.0.192", "168.63.129.16")]
)
_MULTICAST = st.integers(0xE0000000, 0xEFFFFFFF).map(IPv4Address)
_FORBIDDEN_V4 = st.one_of(_LINK_LOCAL, _METADATA, _MULTICAST)


@given(
    st.sampled_from(sorted(FORMS)),
    _FORBIDDEN_V4,
    st.integers(min_value=0, max_value=(1 << 128) - 1),
)
def test_what_leads_to_a_forbidden_address_is_forbidden(
    form: str, address: IPv4Address, rest: int
) -> None:
    written = FORMS[form](address, rest)
    assert is_forbidden(written), written
    assert is_forbidden_host(f"[{written.exploded}]")


@pytest.mark.parametrize("form", FORMS)
def test_what_leads_to_a_public_address_is_not(form: str) -> None:
    written = FORMS[form](IPv4Address("93.184.215.14"), 0x20010DB8 << 96 | 0x08080808_08080808)
    assert not is_forbidden(written), written


@pytest.mark.parametrize("form", FORMS)
def test_what_leads_into_a_private_network_is_inside(form: str) -> None:
    for address in ("10.1.2.3", "127.0.0.1", "192.168.1.1", "100.64.0.1"):
        assert is_inside(FORMS[form](IPv4Address(address), 0)), address


@from_table("host")
def test_notations_of_forbidden_hosts(host: str) -> None:
    assert is_forbidden_host(host)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.0.0.1", "[::1]", "example.com", "a9fea9fe", "fe80", "1.example", "x.0"],
)
def test_hosts_that_may_be_asked(host: str) -> None:
    assert not is_forbidden_host(host)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("form", ["IPv4", *FORMS])
def test_nobody_asks_a_forbidden_address(user: Refusal, form: str) -> None:
    address = IPv4Address("169.254.169.254")
    host = str(address) if form == "IPv4" else f"[{FORMS[form](address, 0)}]"
    said = user(f"http://{host}:80/latest/meta-data?token=hidden")
    assert "does not connect to" in said
    assert "hidden" not in said


def test_the_table_writes_what_standards_write() -> None:
    address = IPv4Address("192.0.2.33")
    assert FORMS["local NAT64, 96"](address, 0) == ip_address("64:ff9b:1::c000:221")
    assert FORMS["local NAT64, 64"](address, 0) == ip_address("64:ff9b:1:0:c0:2:2100:0")
    assert FORMS["local NAT64, 48"](address, 0) == ip_address("64:ff9b:1:c000:2:2100::")
    assert FORMS["6to4"](address, 0) == ip_address("2002:c000:221::")
    assert FORMS["mapped"](address, 0) == ip_address("::ffff:192.0.2.33")
