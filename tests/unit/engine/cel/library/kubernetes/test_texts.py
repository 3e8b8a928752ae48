"""Regular expressions, URLs, versions and keys of patches."""

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
