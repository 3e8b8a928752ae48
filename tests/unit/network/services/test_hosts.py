"""Which hosts `--allow-network` names."""

import pytest

from chartkit.errors import InputError
from chartkit.network.http.connections import read_hosts
from chartkit.network.http.urls import HostPort


@pytest.mark.parametrize(
    ("named", "scheme", "host", "port"),
    [
        ("prices.shop.svc", "http", "prices.shop.svc", 80),
        ("prices.shop.svc", "https", "prices.shop.svc", 443),
        ("Prices.Shop.svc.:8080", "http", "prices.shop.svc", 8080),
        ("[::1]:8080", "http", "::1", 8080),
        ("[0:0:0:0:0:0:0:1]:8080", "http", "::1", 8080),
        ("10.0.0.5:8080", "http", "10.0.0.5", 8080),
    ],
)
def test_service_hosts_named(named: str, scheme: str, host: str, port: int) -> None:
    found = read_hosts([named]).find(scheme, HostPort(host, port))
    assert found is not None
    assert found.reached_at(port) == HostPort(host, port)


@pytest.mark.parametrize(
    ("named", "scheme", "host", "port"),
    [
        ("prices.shop.svc", "http", "prices.shop.svc", 8080),
        ("prices.shop.svc", "http", "prices.shop.svc", 443),
        ("prices.shop.svc:8080", "http", "prices.shop.svc", 80),
        ("example.com", "http", "a.example.com", 80),
        ("a.example.com", "http", "example.com", 80),
        ("localhost:80", "http", "127.0.0.1", 80),
    ],
)
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


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("*", "wildcards are not allowed"),
        ("*.example.com", "wildcards are not allowed"),
        ("", "names no host"),
        ("http://example.com", "names no host"),
        ("example.com/path", "names no host"),
        ("example.com:99999", "names no host"),
        ("user@example.com", "names no host"),
        ("example.com=", "names no host"),
        ("[nonsense]", "names no host"),
        ("[:]", "names no host"),
        (".", "names no host"),
        ("a b", "names no host"),
        ("a\n", "names no host"),
        ("169.254.169.254", "does not connect to link-local addresses"),
        ("169.254.1.1:8080", "does not connect to link-local addresses"),
        ("[fe80::1]", "does not connect to link-local addresses"),
        ("[::ffff:169.254.169.254]", "does not connect to link-local addresses"),
        ("[64:ff9b::a9fe:a9fe]", "does not connect to link-local addresses"),
        ("[2002:a9fe:a9fe::1]", "does not connect to link-local addresses"),
        ("100.100.100.200", "does not connect to link-local addresses"),
        ("0.0.0.0", "does not connect to link-local addresses"),
        ("metadata.google.internal", "does not connect to link-local addresses"),
        ("example.com=169.254.169.254", "does not connect to link-local addresses"),
    ],
)
def test_service_hosts_refused(named: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_hosts([named])


def test_one_host_with_two_meanings() -> None:
    read_hosts(["a:80", "a:80", "a"])
    with pytest.raises(InputError, match="names a twice, and not alike"):
        read_hosts(["a:80", "a:80=b"])
