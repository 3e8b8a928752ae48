"""IP addresses and networks."""

import pytest

from chartkit.engine.cel.library.kubernetes.addresses import CIDR_LIBRARY, parse_cidr
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to

_TWICE = "network address parse error during conversion from string: " * 2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ip('2001:DB8:0:0::1')", 'ip("2001:db8::1")'),
        ("ip('::ffff:1.2.3.4')", 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('fe80::1%eth0')", 'error: IP address "fe80::1%eth0" with zone value is not allowed'),
        (
            "ip('01.2.3.4')",
            'error: IP Address "01.2.3.4" parse error during conversion from string: '
            'ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero',
        ),
        (
            "ip('1:2:3:4:5:6::1.2.3.4')",
            'error: IP Address "1:2:3:4:5:6::1.2.3.4" parse error during conversion from string: '
            'ParseAddr("1:2:3:4:5:6::1.2.3.4"): the :: must expand to at least one field of zeros',
        ),
        ("isIP('::1')", "true"),
        ("ip.isCanonical('2001:db8:0::1')", "false"),
        ("ip.isCanonical('10.0.0.1')", "true"),
        ("ip('0.0.0.0').isUnspecified()", "true"),
        ("ip('127.9.9.9').isLoopback()", "true"),
        ("ip('::2').isLoopback()", "false"),
        ("ip('224.0.1.1').isLinkLocalMulticast()", "false"),
        ("ip('ff12::5').isLinkLocalMulticast()", "true"),
        ("ip('fe80::1').isLinkLocalUnicast()", "true"),
        ("ip('fec0::1').isLinkLocalUnicast()", "false"),
        ("ip('255.255.255.255').isGlobalUnicast()", "false"),
        ("ip('ff00::1').isGlobalUnicast()", "false"),
        ("type(ip('1.1.1.1')) == net.IP", "true"),
        ("dyn(ip('1.1.1.1')) == dyn('1.1.1.1')", "error: no such overload"),
        ("dyn(ip('1.1.1.1')) in ['1.1.1.1']", "false"),
    ],
)
def test_addresses(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cidr('10.1.2.3/8')", 'cidr("10.1.2.3/8")'),
        ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", "true"),
        ("cidr('2001:db8::1/33').masked()", 'cidr("2001:db8::/33")'),
        ("cidr('10.1.2.3/8').ip()", 'ip("10.1.2.3")'),
        ("cidr('::/0').prefixLength()", "0"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
        ("cidr('10.0.0.0/8').containsIP('::1')", "false"),
        ("cidr('10.0.0.0/8').containsIP('bad')", "error: no such overload"),
        ("cidr('0.0.0.0/0').containsIP(ip('9.9.9.9'))", "true"),
        ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/4')", "false"),
        ("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", "true"),
        ("cidr('::/0').containsCIDR('10.0.0.0/8')", "false"),
        (
            "cidr('10.0.0.0/8').containsCIDR('bad')",
            f"error: {_TWICE}netip.ParsePrefix(\"bad\"): no '/'",
        ),
        (
            "cidr('10.0.0.0/08')",
            f'error: {_TWICE}netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"',
        ),
        (
            "cidr('fe80::%e/64')",
            f'error: {_TWICE}netip.ParsePrefix("fe80::%e/64"): IPv6 zones cannot be present in a '
            "prefix",
        ),
        ("isCIDR('::ffff:1.2.3.4/120')", "false"),
        ("isCIDR('10.0.0.1/8')", "true"),
    ],
)
def test_addresses_networks(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


@pytest.mark.parametrize(
    ("id", "cost"),
    [
        ("cidr_contains_ip_string", 2),
        ("cidr_contains_ip_ip", 1),
        ("cidr_contains_cidr_string", 4),
        ("cidr_contains_cidr", 3),
    ],
)
def test_a_network_costs_by_the_bytes_of_its_mask(id: str, cost: int) -> None:
    overload = next(each for each in CIDR_LIBRARY.overloads if each.id == id)
    assert overload.cost is not None
    assert overload.cost([parse_cidr("2001:db8::/33"), "2001:db8::"], True) == cost
