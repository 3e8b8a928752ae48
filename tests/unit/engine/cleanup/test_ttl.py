"""The TTL label: durations, times and what Kyverno cannot read."""

from datetime import UTC, datetime, timedelta

import pytest

from chartkit.engine.cleanup.policy import LABEL, deletion_time
from chartkit.errors import InputError
from chartkit.model import Body, Resource
from tests.data import from_table

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _labelled(text: object, **metadata: object) -> Resource:
    body: Body = {"metadata": {"name": "a", "labels": {LABEL: text}, **metadata}}
    return Resource(body)


@from_table("text", "life")
def test_durations_count_from_creation(text: str, life: dict[str, float]) -> None:
    assert deletion_time(_labelled(text), NOW) == NOW + timedelta(**life)
    made = _labelled(text, creationTimestamp="2029-06-01T00:00:00Z")
    assert deletion_time(made, NOW) == datetime(2029, 6, 1, tzinfo=UTC) + timedelta(**life)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2031-02-03", datetime(2031, 2, 3, tzinfo=UTC)),
        ("2031-02-03T040506Z", datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)),
    ],
)
def test_ttl_times(text: str, time: datetime) -> None:
    assert deletion_time(_labelled(text), NOW) == time


@pytest.mark.parametrize("text", ["soon", "2031-13-01", "", "2031-02-03T04:05:06Z", "5x"])
def test_what_kyverno_cannot_read(text: str) -> None:
    with pytest.raises(InputError, match="neither a duration nor a time"):
        deletion_time(_labelled(text), NOW)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": None},
        {"metadata": ["a"]},
        {"metadata": {"labels": "a"}},
        {"metadata": {"labels": {LABEL: 5}}},
        {"metadata": {"labels": {LABEL: "1h"}, "deletionTimestamp": "2029-01-01T00:00:00Z"}},
    ],
)
def test_objects_that_stay(body: Body) -> None:
    assert deletion_time(Resource(body), NOW) is None


def test_a_life_beyond_the_calendar_never_ends() -> None:
    assert deletion_time(_labelled("99999999w"), NOW) is None


def test_a_creation_time_that_is_none_counts_as_missing() -> None:
    assert deletion_time(_labelled("1h", creationTimestamp="x"), NOW) == NOW + timedelta(hours=1)
