"""IP addresses and networks."""

import pytest

from chartkit.engine.cel.library.kubernetes.addresses import CIDR_LIBRARY, parse_cidr
from tests.data import from_table
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to

_TWICE = "network address parse error during conversion from string: " * 2


@from_table("expression", "expected")
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


@from_table("id", "cost")
def test_a_network_costs_by_the_bytes_of_its_mask(id: str, cost: int) -> None:
    overload = next(each for each in CIDR_LIBRARY.overloads if each.id == id)
    assert overload.cost is not None
    assert overload.cost([parse_cidr("2001:db8::/33"), "2001:db8::"], True) == cost
