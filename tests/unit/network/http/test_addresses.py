"""Addresses that are never asked, however they are written."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.network.http.urls import is_forbidden, is_forbidden_host, is_inside
from tests.unit.network.http.users import USERS, Refusal

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


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0xA9.0xFE.0xA9.0xFE",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.254.169.254.",
        "[fe80::1%eth0]",
        "[fd00:ec2::254]",
        "Metadata.Google.Internal.",
        "0.0.0.0",
        "0",
        "[::]",
    ],
)
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
