"""Rules of the recorded cases: whatever converts agrees with its original."""

from collections.abc import Callable

import pytest

from tests.conformance.migration_cases import (
    compare,
    compare_generations,
    compare_mutations,
    compare_queries,
)
from tests.shared import shared


@pytest.mark.parametrize(
    ("file", "least"),
    [
        pytest.param("patterns", 640, marks=pytest.mark.slow),
        pytest.param("conditions", 1165, marks=pytest.mark.slow),
        ("variables", 170),
        ("match", 227),
        pytest.param("podsecurity", 91, marks=pytest.mark.slow),
    ],
)
def test_recorded_cases_agree_where_they_convert(
    file: str, least: int, record_property: Callable[[str, object], None]
) -> None:
    shares = compare(shared(f"conformance/engine/{file}.jsonl"))
    record_property("shares", str(shares))
    assert shares.different == []
    assert shares.converted >= least


@pytest.mark.slow
def test_recorded_queries_agree_where_they_convert(
    record_property: Callable[[str, object], None],
) -> None:
    shares = compare_queries(shared("conformance/engine/jmespath.jsonl"))
    record_property("shares", str(shares))
    assert shares.different == []
    assert shares.converted >= 2955


def test_recorded_mutations_agree_where_they_convert(
    record_property: Callable[[str, object], None],
) -> None:
    shares = compare_mutations(shared("conformance/engine/mutate.jsonl"))
    record_property("shares", str(shares))
    assert shares.different == []
    assert shares.converted >= 148


def test_recorded_generations_agree_where_they_convert(
    record_property: Callable[[str, object], None],
) -> None:
    shares = compare_generations(shared("conformance/engine/generate.jsonl"))
    record_property("shares", str(shares))
    assert shares.different == []
    assert shares.converted >= 52
