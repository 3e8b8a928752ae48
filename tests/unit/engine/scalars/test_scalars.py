"""Texts with a grammar: cron schedules, references of images, wildcards."""

import contextlib
import fnmatch
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.scalars.cron import CronExpression, Schedule, is_standard
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_reference
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from tests.data import from_table


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


LONGEST = 366 * 9
"""Days; the 29th of February may be eight years away, across a century's end."""


def _times(schedule: Schedule, first: date, days: int) -> Iterator[datetime]:
    for day in (first + timedelta(offset) for offset in range(days)):
        if schedule.runs(day, 1):
            for hour, minute in product(schedule.hours, schedule.minutes):
                yield datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


@from_table("text", "after", "expected")
def test_cron_next(text: str, after: str, expected: str) -> None:
    moment = _at(after)
    times = _times(Schedule.parse(text), moment.date(), LONGEST)
    assert next(time for time in times if time > moment) == _at(expected)


def test_a_day_that_never_comes() -> None:
    assert Schedule.parse("0 0 30 2 *").runs(date(2030, 1, 1), LONGEST) == 0


@from_table("text")
def test_cron_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"field|minute|hour|day|month|week"):
        Schedule.parse(text)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [("@every 1h30m", True), ("@every soon", False), (", * * * *", True), ("* * * * 7", False)],
)
def test_what_the_webhook_takes(text: str, is_taken: bool) -> None:
    assert is_standard(text) is is_taken


@from_table("text", "expected")
def test_runs_of_a_week(text: str, expected: int) -> None:
    assert Schedule.parse(text).runs(date(2024, 1, 1), 7) == expected


_PARTS = (
    st.sampled_from(["0", "5,59", "*/20", "30-33"]),
    st.sampled_from(["*", "0", "23", "*/6", "1,9-11"]),
    st.sampled_from(["*", "?", "1", "28-31", "*/2", "2,3"]),
    st.sampled_from(["*", "jan", "2,3", "*/5"]),
    st.sampled_from(["*", "mon", "0,6", "*/2", "1-5"]),
)


@given(st.tuples(*_PARTS).map(" ".join), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_runs_are_as_many_as_the_times(text: str, first: date) -> None:
    schedule = Schedule.parse(text)
    assert schedule.runs(first, 3) == len(set(_times(schedule, first, 3)))


@given(st.integers(0, 59), st.integers(0, 23), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_a_daily_schedule_runs_once_a_day(minute: int, hour: int, first: date) -> None:
    (time,) = _times(Schedule.parse(f"{minute} {hour} * * *"), first, 1)
    assert (time.date(), time.hour, time.minute) == (first, hour, minute)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        Schedule.parse(text)


TABLE = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("cron_expressions.tsv").read_text().splitlines()
]
AFTER = datetime(2030, 1, 1, 10, 2, 30, tzinfo=UTC)


def _answer(text: str) -> str:
    try:
        found = CronExpression.parse(text).next(AFTER)
    except ValueError as error:
        return f"error: {error}"
    return "never" if found is None else found.strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize(("text", "webhook", "controller"), TABLE)
def test_what_the_webhook_and_the_controller_say(text: str, webhook: str, controller: str) -> None:
    assert is_standard(text) is (webhook == "webhook")
    assert _answer(text) == controller


@given(st.text(max_size=30))
def test_any_expression_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        CronExpression.parse(text).next(AFTER)


_DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("nginx", "index.docker.io", "library/nginx", "latest", ""),
        ("docker.io/a/bc", "index.docker.io", "a/bc", "latest", ""),
        ("r/ab", "index.docker.io", "r/ab", "latest", ""),
        ("r:99/ab:v1", "r:99", "ab", "v1", ""),
        ("http:///ab", "http:", "//ab", "latest", ""),
        ("[::1]/ab", "[::1]", "ab", "latest", ""),
        ("R.io/ab", "R.io", "ab", "latest", ""),
        (f"ghcr.io/ab:v1@{_DIGEST}", "ghcr.io", "ab", "", _DIGEST),
        (f"ab@{_DIGEST}", "index.docker.io", "library/ab", "", _DIGEST),
    ],
)
def test_a_reference_has_its_parts(
    text: str, registry: str, repository: str, tag: str, digest: str
) -> None:
    found = parse_reference(text)
    assert (found.registry, found.repository) == (registry, repository)
    assert (found.tag, found.digest) == (tag, digest)
    assert (found.identifier, str(found)) == (digest or tag, text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "n", "ghcr.io/a", "UPPER/case", "nginx:", "a b", "r.io:port/ab", "host%41/ab"),
        *("user:pw@host/ab", "nginx@sha256:abc", f"ab@{_DIGEST.upper()}", f"a@{_DIGEST}@x"),
        "ab:" + "t" * 129,
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ImageReferenceError, match="could not parse reference: "):
        parse_reference(text)


@from_table("pattern", "text", "matches")
def test_wildcard_matches(pattern: str, text: str, matches: bool) -> None:
    assert compile_wildcard(pattern)(text) is matches


def test_many_stars_stay_fast() -> None:
    assert not compile_wildcard("*a" * 50 + "b")("a" * 20_000)
    assert not compile_wildcard("*a?" * 50 + "b")("a" * 5_000)


def test_tells_patterns_from_names() -> None:
    assert has_wildcard("a*")
    assert has_wildcard("a?")
    assert not has_wildcard("[a]")


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_agrees_with_the_shell(pattern: str, text: str) -> None:
    assert compile_wildcard(pattern)(text) is fnmatch.fnmatchcase(text, pattern)
