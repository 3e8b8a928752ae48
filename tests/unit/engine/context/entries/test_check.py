"""What Kyverno refuses in context entries."""

from chartkit.engine.context.entries import check_entries
from chartkit.model import Body
from tests.data import from_table


@from_table("entry")
def test_entries_check_sound(entry: Body) -> None:
    assert check_entries([{"name": "x", **entry}]) is None


@from_table("entry", "fault")
def test_entries_check_faults(entry: Body, fault: str) -> None:
    found = check_entries([{"name": "first", "variable": {"value": 1}}, entry])
    assert found is not None
    assert found.startswith(fault)


def test_cel_takes_no_entries() -> None:
    assert check_entries([], cel=True) is None
    fault = check_entries([{"name": "x"}], cel=True)
    assert fault == "context variables are not supported for CEL expressions in validate rules"
