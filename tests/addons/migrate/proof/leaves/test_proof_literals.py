"""Values around literals of policies."""

import pytest

from chartkit.addons.migrate.proof.leaves.leaf import around, matching, of_pattern
from chartkit.model import Json
from tests.data import from_table


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (5, [5, 6, 4]),
        (True, [True, False]),
        ("app", ["app", "APP", "appx", "xapp", "ap"]),
        ("10Mi", ["10Mi", "11Mi", "9Mi", "10Ki", "10Gi", "10240Ki"]),
        ("30s", ["30s", "31s", "29s", "30m0s"]),
        ("nginx:*", ["nginx:x", "nginx:"]),
    ],
)
def test_values_around_a_literal(literal: Json, expected: list[Json]) -> None:
    found = around(literal)
    assert [one for one in expected if one not in found] == []


@from_table("pattern", "met", "missed")
def test_values_around_a_pattern_by_what_it_takes(
    pattern: Json, met: list[Json], missed: list[Json]
) -> None:
    taken, refused = of_pattern(pattern)
    assert [one for one in met if one not in taken] == []
    assert [one for one in missed if one not in refused] == []


@pytest.mark.parametrize(
    ("pattern", "sample"),
    [
        ("^[a-z0-9]+$", "a"),
        (r"^v\d{2}\.(alpha|beta)$", "v00.alpha"),
        (r"^v\d{2}\.(alpha|beta)$", "v11.beta"),
        ("foo|bar", "bar"),
        (r"^https://[a-zA-Z0-9-]+[.]myorg[.]com/.*$", "https://bb.myorg.com/x"),
        ("[^/]+/(?:x)?", "x/"),
        (r"(?i)^[\w.-]+?\s*@x\.y$", "0@x.y"),
    ],
)
def test_texts_that_a_regular_expression_matches(pattern: str, sample: str) -> None:
    assert sample in matching(pattern)


def test_a_number_of_any_length_is_a_text() -> None:
    met, missed = of_pattern("1" * 5000)
    assert all(not isinstance(value, int) or abs(value) < 10**40 for value in [*met, *missed])
