"""chartkit.report.spool: reports grow on disk, and what is read back is what was written."""

import io
import json
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from chartkit.errors import InputError
from chartkit.model import Location, Resource, RuleResult, RuleType, Status
from chartkit.report import FORMATS, ReportOptions, ReportPer, spool
from chartkit.report.files import write_pieces
from chartkit.report.model import ResultCache
from chartkit.report.outputs import Output, Outputs
from chartkit.report.spool import Spool
from chartkit.report.text import TextWriter

OBJECTS = 1_000


def results(number: int) -> list[RuleResult]:
    """Ten results, the messages of half of them unlike all others."""
    return [
        RuleResult("p", f"r{rule}", RuleType.VALIDATION, Status.FAIL, f"no: {rule} {number * odd}")
        for rule in range(10)
        for odd in [rule % 2]
    ]


def pod(number: int) -> Resource:
    metadata = {"name": f"web-{number}", "namespace": f"team-{number % 7}"}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, Location("p.yaml"))


@pytest.mark.parametrize("size", [10, 1000])
def test_every_part_is_read_back(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY", 100)
    monkeypatch.setattr(spool, "_PIECE", 7)
    kept = Spool()
    texts = [f"{number}: grün \U0001f600\n" for number in range(size)]
    places = []
    for text in texts:
        start = kept.size
        kept.write(text)
        places.append((start, kept.size))
    assert "".join(kept.pieces()) == "".join(texts)
    assert ["".join(kept.pieces(*place)) for place in places] == texts
    kept.write("more")
    assert "".join(kept.pieces()) == "".join([*texts, "more"])


def test_what_no_file_can_hold_is_replaced() -> None:
    kept = Spool()
    kept.write("a\ud800b")
    assert "".join(kept.pieces()) == "a\ufffdb"


def test_no_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(InputError, match=r"No space left on device .set TMPDIR"):
        Spool().write("x" * 1_000_000)


FORMS = [(name, ReportPer.NAMESPACE) for name in sorted(FORMATS)]
FORMS += [("policyreport", ReportPer.OBJECT)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "per"), FORMS)
def test_no_format_keeps_results_in_memory(
    name: str, per: ReportPer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY", 10_000)
    monkeypatch.setattr(spool, "_PIECE", 10_000)
    monkeypatch.setattr(ResultCache, "_LIMIT", 50)

    def written(objects: int) -> tuple[int, int]:
        """The report's size, and the most memory that it took."""
        tracemalloc.start()
        writer = FORMATS[name](ReportOptions(per=per))
        for number in range(objects):
            writer.add(pod(number), results(number))
        size = sum(map(len, writer.finish(Counter({Status.FAIL: objects * 10}))))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size, peak

    written(1)
    few, more = written(50), written(250)
    assert more[0] > 4 * few[0]
    assert more[1] < few[1] + (more[0] - few[0]) / 2


def test_few_objects_of_kustomizations_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chartkit.report.text._MOST_BUILT", 3)
    writer = TextWriter(ReportOptions())
    for number in range(10):
        built = pod(number)
        place = replace(built.location, file=f"{number}.yaml", line=1, overlay="dev")
        writer.add(replace(built, location=place), results(number))
        assert len(writer._built) < 3
    found = "".join(writer.finish(Counter({Status.FAIL: 100})))
    assert [found.count(f"web-{number}  {number}.yaml:") for number in range(10)] == [1] * 10


@pytest.mark.parametrize("per", list(ReportPer))
@pytest.mark.parametrize("name", ["json", "junit", "policyreport"])
def test_reports_beyond_memory_are_whole(name: str, per: ReportPer) -> None:
    writer = FORMATS[name](ReportOptions(per=per))
    for number in range(OBJECTS):
        writer.add(pod(number), results(number))
    text = "".join(writer.finish(Counter({Status.FAIL: OBJECTS * 10})))
    if name == "json":
        found = len(json.loads(text)["results"])
    elif name == "junit":
        root = ElementTree.fromstring(text)
        found = len(root.findall("testsuite/testcase/failure"))
        assert root.get("failures") == str(found)
    else:
        found = text.count("\n- source: ")
        assert text.count("\nkind: PolicyReport\n") == (
            7 if per is ReportPer.NAMESPACE else OBJECTS
        )
    assert found == OBJECTS * 10


def test_a_run_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "half"
        raise InputError("no more")

    file = tmp_path / "report"
    for before in (None, "old"):
        if before:
            file.write_text(before)
        with pytest.raises(InputError, match="no more"):
            write_pieces(file, broken())
        assert [path.read_text() for path in tmp_path.iterdir()] == ([before] if before else [])


def test_nothing_is_shown_before_the_end() -> None:
    stdout = io.StringIO()
    reports = Outputs([Output("policyreport")], ReportOptions(), stdout)
    for number in range(OBJECTS):
        reports.add(pod(number), results(number))
    assert stdout.getvalue() == ""
    reports.finish(Counter())
    assert stdout.getvalue().count("\n- source: ") == OBJECTS * 10
