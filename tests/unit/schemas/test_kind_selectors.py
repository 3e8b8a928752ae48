import pytest

from chartkit.schemas.kind_selectors import is_version, parse_kind_selector
from tests.data import from_table


@from_table("text", "parts")
def test_kind_selectors(text: str, parts: list[str]) -> None:
    assert list(parse_kind_selector(text)) == parts


@pytest.mark.parametrize("text", ["v1", "v1alpha1", "v2beta2", "*"])
def test_kind_selectors_versions(text: str) -> None:
    assert is_version(text)


@pytest.mark.parametrize("text", ["apps", "v", "v1gamma1", "v12", ""])
def test_kind_selectors_no_versions(text: str) -> None:
    assert not is_version(text)
