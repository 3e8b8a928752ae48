"""Texts of Kubernetes: addresses, networks, quantities, URLs, versions and named formats."""

import pytest

from chartkit.engine.cel.library.kubernetes.addresses import CIDR_LIBRARY, parse_cidr
from chartkit.engine.cel.library.kubernetes.naming import FORMATS, LIBRARY
from chartkit.engine.cel.library.kubernetes.quantity import parse_quantity
from chartkit.engine.cel.library.kubernetes.urls import UrlValue
from chartkit.go.url import parse_url
from tests.data import from_table
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@from_table("expression", "expected")
def test_regular_expressions_and_keys(expression: str, expected: str) -> None:
    assert comes_to(expression, text="abc 123 456", pattern="[") == expected


@from_table("expression", "expected")
def test_kubernetes_texts_urls(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


@from_table("text", "written")
def test_urls_are_written_as_go_writes_them(text: str, written: str) -> None:
    url = UrlValue(parse_url(text))
    assert str(url) == written
    assert url == UrlValue(parse_url(text))
    assert hash(url) == hash(UrlValue(parse_url(text)))


@from_table("expression", "expected")
def test_kubernetes_texts_versions(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


_TWICE = "network address parse error during conversion from string: " * 2


@from_table("expression", "expected")
def test_addresses(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


@from_table("expression", "expected")
def test_addresses_networks(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


@from_table("id", "cost")
def test_a_network_costs_by_the_bytes_of_its_mask(id: str, cost: int) -> None:
    overload = next(each for each in CIDR_LIBRARY.overloads if each.id == id)
    assert overload.cost is not None
    assert overload.cost([parse_cidr("2001:db8::/33"), "2001:db8::"], True) == cost


_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("dns1123Label", "abc", []),
        ("dns1123Label", "Abc", [_LABEL]),
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "é" * 32, ["must be no more than 63 characters", _LABEL]),
        ("dns1123Subdomain", "a.b", []),
        ("dns1123Subdomain", "a." * 127 + "a", ["must be no more than 253 characters"]),
        ("dns1123Subdomain", "a\n", [FORMATS["dns1123Subdomain"].check("_")[0]]),
        ("dns1035Label", "1a", [FORMATS["dns1035Label"].check("-")[0]]),
        ("dns1123LabelPrefix", "abc-", []),
        ("dns1123LabelPrefix", "-", [_LABEL]),
        ("dns1123SubdomainPrefix", "a.b-", []),
        ("dns1123SubdomainPrefix", "a.b.-", FORMATS["dns1123Subdomain"].check("a.ba")),
        ("dns1035LabelPrefix", "abc-", []),
        ("qualifiedName", "example.com/My_name", []),
        ("qualifiedName", "/name", ["prefix part must be non-empty"]),
        ("qualifiedName", "a/", ["name part must be non-empty", f"name part {_KEY}"]),
        ("qualifiedName", "a" * 64, ["name part must be no more than 63 bytes"]),
        (
            "qualifiedName",
            "a/b/c",
            [
                f"a valid label key {_KEY} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        ("labelValue", "", []),
        ("labelValue", "a" * 64, ["must be no more than 63 bytes"]),
        ("uri", "https://a", []),
        ("uri", "not a uri", ['parse "not a uri": invalid URI for request']),
        ("uuid", "123E4567e89b12d3a456426614174000", []),
        ("uuid", "xyz", ["does not match the UUID format"]),
        ("byte", "aGVsbG8=", []),
        ("byte", "", ["invalid base64"]),
        ("date", "2024-02-29", []),
        ("date", "2021-02-29", ["invalid date"]),
        ("date", "0000-02-29", []),
        ("date", "2021-1-01", ["invalid date"]),
        ("datetime", "2021-01-01t23:59:59,5+99:99", []),
        ("datetime", "2021-01-01T00:00:00Ztrailing", []),
        ("datetime", "2021-01-01T24:00:00Z", ["invalid datetime"]),
        ("datetime", "2021-01-01T00:00:60Z", ["invalid datetime"]),
        ("datetime", "2021-01-01", ["invalid datetime"]),
    ],
)
def test_formats(name: str, text: str, problems: list[str]) -> None:
    assert FORMATS[name].check(text) == problems


@from_table("expression", "expected")
def test_formats_in_expressions(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


def test_a_validation_costs_as_a_long_pattern_does() -> None:
    validate = LIBRARY.overloads[0]
    assert validate.cost is not None
    assert validate.cost([FORMATS["uuid"], "x" * 30], None) == 4 * 18


@from_table("expression", "expected")
def test_quantities_in_cel(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


def test_a_sum_that_would_need_a_thousand_digits_is_refused() -> None:
    numeric = "error: unable to parse numeric part of quantity"
    assert comes_to("quantity('1e5000').add(1)") == numeric
    assert comes_to("quantity('1e5000').isGreaterThan(quantity('1'))") == "true"


def test_equal_quantities_have_one_hash() -> None:
    assert parse_quantity("1Gi") == parse_quantity("1024Mi")
    assert hash(parse_quantity("1Gi")) == hash(parse_quantity("1024Mi"))
    assert parse_quantity("1Gi") != "1Gi"
