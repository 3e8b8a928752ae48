"""Messages in the text report."""

from chartkit.model import Status
from tests.unit.report.samples import Added, options, result, samples, written


def test_the_paths_of_alternatives_are_listed_as_places_alone() -> None:
    paths = "rule r[0] failed at path /spec/a/ rule r[1] failed at path /spec/b/"
    failure = result(Status.FAIL, f"set a. {paths}", "/spec")
    rows: list[Added] = [(samples()[0][0], [failure], {})]
    text = written("text", options(), rows)
    assert "set a.\n" in text
    assert "failed at path" not in text
    assert paths in written("json", options(), rows)
