"""Names that a mistyped one may stand for."""

import subprocess

import pytest

import chartkit
from chartkit.suggestions import did_you_mean, nearest, suggestion


@pytest.mark.parametrize(
    ("name", "expected"),
    [("reportController", "reportsController"), ("ENFORCE", "Enforce"), ("zzzz", None)],
)
def test_suggestion(name: str, expected: str | None) -> None:
    hint = suggestion(name, ["reportsController", "Enforce", "Audit"])
    assert hint == (f"did you mean '{expected}'?" if expected else None)


def test_the_most_similar_name_comes_first() -> None:
    assert nearest("scann", ["scanner", "scan", "render"]) == ["scan", "scanner"]
    assert nearest("scann", ["scanner", "scan", "render"], 1) == ["scan"]


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ([], None),
        (["a"], "did you mean 'a'?"),
        (["a", "b"], "did you mean 'a' or 'b'?"),
        (["a", "b", "c"], "did you mean 'a', 'b' or 'c'?"),
    ],
)
def test_hint(names: list[str], hint: str | None) -> None:
    assert did_you_mean(names) == hint


def test_no_other_module_looks_for_similar_names() -> None:
    command = ["grep", "-rl", "get_close_matches", "--include=*.py", chartkit.__path__[0]]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [file.rpartition("/")[2] for file in found] == ["suggestions.py"]
