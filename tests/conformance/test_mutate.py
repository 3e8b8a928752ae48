"""What is compared of the objects that recorded cases of mutation patch."""

from pathlib import Path

from tests.conformance.engine import read_cases
from tests.conformance.engine_policies import run_case
from tests.conformance.patched import patched_differ

OWN = Path(__file__).parent / "data" / "mutate.jsonl"


def test_a_patched_object_that_differs_is_found() -> None:
    case = next(case for case in read_cases(OWN) if case["id"] == "md-001")
    changed = {**case, "patched": [{**case["patched"][0], "object": {}}]}
    assert run_case(changed) is not None


def test_objects_without_results_are_passed_over() -> None:
    recorded = {"resource": "a/b/c", "policy": "p", "object": {}}
    assert patched_differ({"patched": [recorded]}, []) is None
