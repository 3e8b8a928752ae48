"""Recorded cases of the engine, and the project's own: each language and every kind of rule."""

from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conformance.deviations import DEVIATIONS
from tests.conformance.engine import RUNNERS, read_cases, run_file
from tests.shared import shared

DATA: Final = Path(__file__).parent / "data"
OWN: Final = {**RUNNERS, "manifests": RUNNERS["podsecurity"]}
SLOW: Final = ("cel", "cel-kyverno", "patterns", "podsecurity")
LETTERS: Final = 0.98
"""How many of all messages must agree to the letter; the common ones must in any case."""


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case['id']}")
        for name in OWN
        for path in DATA.glob(f"{name}.jsonl*")
        for case in read_cases(path)
    ],
)
def test_own_case(name: str, case: dict[str, Any]) -> None:
    fault = import_module(OWN[name]).run_case(case)
    if case["id"] in DEVIATIONS.get(name, ()):
        assert fault is not None, "agrees: take it off the list of known deviations"
    else:
        assert fault is None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in RUNNERS]
)
def test_recorded_cases(name: str) -> None:
    outcome = run_file(shared(f"conformance/engine/{name}.jsonl"))
    assert outcome.failed == {}
    assert outcome.passed
    assert outcome.reworded <= (1 - LETTERS) * outcome.messages
