"""What decided a result, by recorded cases: with that changed, another result comes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.engine import read_cases
from tests.conformance.engine_policies import Case
from tests.conformance.why_changes import decided, fault, outcomes
from tests.data import tables

_TABLES = tables(__file__)

DATA = Path(__file__).parent / "data"
FILES = ("match", "patterns", "podsecurity", "variables")
KINDS = {
    *("fail anyPattern", "fail deny", "fail foreach", "fail pattern", "fail podSecurity"),
    *("none autogen", "none match", "pass deny", "skip exception", "skip pattern"),
    "skip preconditions",
}
EACH = 8


def cases() -> list[Case]:
    return [case for name in FILES for case in read_cases(DATA / f"{name}.jsonl")]


def judged(chosen: Iterable[Case]) -> tuple[Counter[str], list[str]]:
    kinds: Counter[str] = Counter()
    faults: list[str] = []
    for case in chosen:
        for kind, wrong in outcomes(case):
            kinds[kind] += 1
            faults += [wrong] if wrong else []
    return kinds, faults


def test_another_result_comes_of_what_is_named() -> None:
    kinds, faults = judged(cases()[::EACH])
    assert faults == []
    assert set(kinds) >= KINDS


@pytest.mark.slow
def test_another_result_comes_in_all_recorded_cases() -> None:
    kinds, faults = judged(cases())
    assert faults == []
    assert kinds.total() > 2000


POLICY: dict[str, Any] = _TABLES["policy"]


def test_a_wrong_name_is_noticed() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    case = {"id": "wrong", "policies": [POLICY], "resources": [pod]}
    (right,) = decided(case, POLICY, (), pod)
    assert fault(case, POLICY, pod, right) == ""
    held = next(part for part in right.decision.parts if part.holds)
    wrong = replace(right, decision=replace(right.decision, location=held.location))
    assert "unchanged" in (fault(case, POLICY, pod, wrong) or "")
