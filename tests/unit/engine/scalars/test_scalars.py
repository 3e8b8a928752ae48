"""Texts with a grammar: cron schedules, references of images, wildcards."""

import contextlib
import fnmatch
from datetime import UTC, date, datetime, timedelta, timezone
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


@from_table("text", "after", "expected")
def test_cron_next(text: str, after: str, expected: str) -> None:
    assert Schedule.parse(text).next(_at(after)) == _at(expected)


def test_a_day_that_never_comes() -> None:
    assert Schedule.parse("0 0 30 2 *").next(_at("2030-01-01T00:00:00")) is None


def test_times_of_other_zones() -> None:
    after = datetime(2030, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert Schedule.parse("0 0 * * *").next(after) == _at("2030-01-01T00:00:00")


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
def test_runs_are_as_many_as_next_finds(text: str, first: date) -> None:
    schedule = Schedule.parse(text)
    begin = datetime(first.year, first.month, first.day, tzinfo=UTC)
    found, moment = 0, schedule.next(begin - timedelta(minutes=1))
    while moment is not None and moment < begin + timedelta(days=3):
        found, moment = found + 1, schedule.next(moment)
    assert schedule.runs(first, 3) == found


@given(
    st.integers(0, 59), st.integers(0, 23), st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1))
)
def test_a_daily_schedule_runs_within_a_day(minute: int, hour: int, after: datetime) -> None:
    moment = after.replace(tzinfo=UTC)
    found = Schedule.parse(f"{minute} {hour} * * *").next(moment)
    assert found is not None
    assert timedelta(0) < found - moment <= timedelta(days=1)
    assert (found.hour, found.minute, found.second) == (hour, minute, 0)


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
