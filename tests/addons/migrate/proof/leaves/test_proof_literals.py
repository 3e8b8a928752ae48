"""Values around literals of policies."""

from chartkit.addons.migrate.proof.leaves.leaf import around, matching, of_pattern
from chartkit.model import Json
from tests.data import from_table


@from_table("literal", "expected")
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


@from_table("pattern", "sample")
def test_texts_that_a_regular_expression_matches(pattern: str, sample: str) -> None:
    assert sample in matching(pattern)


def test_a_number_of_any_length_is_a_text() -> None:
    met, missed = of_pattern("1" * 5000)
    assert all(not isinstance(value, int) or abs(value) < 10**40 for value in [*met, *missed])
