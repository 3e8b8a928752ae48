"""Cron expressions against a table of what Kyverno's two libraries answer.

`cron_expressions.tsv`: the expression, whether `robfig/cron` 1.2.0 takes it (`webhook`), and what
`supercronic/cronexpr` 0.2.48 says is its first time after 1 January 2030, 10:02:30.
"""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.scalars.cron import CronExpression, is_standard

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
