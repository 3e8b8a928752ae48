import pytest

from chartkit.errors import InputError
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Location
from tests.data import from_table


@from_table("text", "expected")
def test_reads_versions_as_clusters_write_them(text: str, expected: list[int]) -> None:
    assert parse_version(text, "Kubernetes") == Version(*expected)


@from_table("text")
def test_refuses_anything_else(text: object) -> None:
    with pytest.raises(InputError) as caught:
        parse_version(text, "Kubernetes", Location("chartkit.yaml", 4, 3))
    assert str(caught.value).startswith("chartkit.yaml:4:3: ")
    assert "is not a version of Kubernetes" in caught.value.message


def test_orders_by_number_not_by_text() -> None:
    versions = [Version(1, 10), Version(1, 9), Version(1, 19)]
    assert [str(each) for each in sorted(versions)] == ["1.9", "1.10", "1.19"]
    assert Version(1, 9).next_minor() == Version(1, 10)
