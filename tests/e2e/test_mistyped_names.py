"""Mistyped names of options and profiles are answered with the one that is meant."""

from pathlib import Path

from tests.data import from_table
from tests.e2e.command import chartkit


@from_table("typed", "meant")
def test_a_mistyped_name_has_the_nearest_one(tmp_path: Path, typed: str, meant: str) -> None:
    done = chartkit(tmp_path, *typed.split())
    assert done.code == 2
    assert f"did you mean '{meant}'?" in done.err
