"""Reports on disk: grown, read back, merged, and written in parts by several processes."""

import io
import json
import pickle
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from chartkit.errors import InputError
from chartkit.model import Location, Resource, RuleResult, RuleType, Status
from chartkit.report import FORMATS, ReportOptions, ReportPer, spool
from chartkit.report.command_report import CommandReport, write_report
from chartkit.report.files import write_pieces
from chartkit.report.formats import writer_of
from chartkit.report.model import Divisible, Guidance, ResultCache
from chartkit.report.outputs import Output, Outputs
from chartkit.report.spool import SortedSpool, Spool
from chartkit.report.stored import changes, compared, merged, read_report
from chartkit.report.text import TextWriter
from tests.e2e.command import chartkit
from tests.unit.report.samples import (
    HOSTILE,
    TWO_PODS,
    Added,
    facts,
    hostile,
    options,
    samples,
    written,
)


def stored(folder: Path, name: str, text: str = TWO_PODS, form: str = "json") -> Path:
    file = folder / f"{name}.{form}"
    file.write_text(written(form, options(), samples(text)), "utf-8")
    return file


def shown(report: CommandReport, name: str) -> str:
    stdout = io.StringIO()
    write_report(report, [Output(name)], stdout)
    return stdout.getvalue()


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_report_is_read_back(form: str, tmp_path: Path) -> None:
    found = read_report(stored(tmp_path, "a", form=form), "prd")
    assert found.counts[Status.FAIL] == 4
    assert len(found.findings) == 6
    first = found.findings[0]
    assert (first.rule.id, first.subject, first.field) == (
        "p/r",
        "Pod/shop/web",
        "spec.containers[0].image",
    )
    assert str(first.location) == "deploy/pods.yaml:9:5"
    assert [str(each.acceptance.state) for each in found.findings if each.acceptance] == [
        "known",
        "suppressed",
    ]


def test_equal_reports_do_not_differ_where_lines_moved(tmp_path: Path) -> None:
    first, second = TWO_PODS.split("---\n")
    old = read_report(stored(tmp_path, "old"))
    new = read_report(stored(tmp_path, "new", f"# moved\n{second}---\n{first}"))
    found = changes(old, new)
    assert (found.new, found.fixed, found.unchanged) == ((), (), 4)


def test_new_and_fixed_findings_are_listed(tmp_path: Path) -> None:
    stored(tmp_path, "old")
    (tmp_path / "new.json").write_text(
        (tmp_path / "old.json").read_text().replace("v1/Pod//db", "v1/Pod//cache")
    )
    done = chartkit(tmp_path, "report", "diff", "old.json", "new.json")
    assert done.code == 1
    assert done.out == (
        "new  p/r  Pod/cache  deploy/pods.yaml:11\n"
        "new  p/e  Pod/cache  deploy/pods.yaml:11\n"
        "fixed  p/r  Pod/db  deploy/pods.yaml:11\n"
        "fixed  p/e  Pod/db  deploy/pods.yaml:11\n"
        "new: 2, fixed: 2, unchanged: 2\n"
    )
    assert chartkit(tmp_path, "report", "diff", "old.json", "old.json").code == 0


def test_merged_reports_stand_side_by_side(tmp_path: Path) -> None:
    reports = [read_report(stored(tmp_path, name), name) for name in ("dev", "prd")]
    report = merged(reports, lambda _names: {"p": Guidance("Write a digest.", "", ("CIS 1",))})
    assert shown(report, "text").splitlines() == [
        f"{name}: pass: 1, fail: 4, warn: 1, error: 1, skip: 1" for name in ("dev", "prd")
    ]
    page = shown(report, "html")
    assert "Write a digest." in page
    assert "CIS 1" in page
    assert "By policy and environment" in page
    assert '<th scope="col" class="number">dev</th><th scope="col" class="number">prd</th>' in page
    assert {row["environment"] for row in json.loads(shown(report, "json"))["findings"]} == {
        "dev",
        "prd",
    }


def test_every_format_takes_the_differences(tmp_path: Path) -> None:
    old, new = read_report(stored(tmp_path, "a", "")), read_report(stored(tmp_path, "b"))
    report = compared(changes(old, new))
    for name in ("sarif", "github", "gitlab", "azure", "junit", "markdown", "csv", "html", "yaml"):
        assert "only audited" in shown(report, name), name


@pytest.mark.parametrize("text", ["[]", "{}", '{"summary": {}}', "a: b\n---\nc: d\n", "null", "{"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError):
        read_report(tmp_path / "r.json")


def test_rows_of_any_shape_are_read(tmp_path: Path) -> None:
    rows = [{"result": "fail", "resource": 3, "location": None, "accepted": [1]}, 7, {"result": []}]
    (tmp_path / "r.json").write_text(json.dumps({"summary": {"pass": "x"}, "results": rows}))
    assert len(read_report(tmp_path / "r.json").findings) == 1


def test_two_reports_of_one_name_are_refused(tmp_path: Path) -> None:
    file = stored(tmp_path, "a")
    done = chartkit(tmp_path, "report", "merge", str(file), f"a={file}")
    assert done.code == 2
    assert "two reports are named 'a'" in done.err


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


GENERATED: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}


def objects() -> list[Added]:
    """Return results for objects in several namespaces, of several policies: what one part finds
    first is not what the others find first."""
    found = [*samples(), *hostile(HOSTILE["markdown"]), *hostile(HOSTILE["json"])]
    for number in range(6):
        metadata = {"name": f"n{number}", "namespace": f"team-{number % 3}", "labels": {"app": "a"}}
        body = {"apiVersion": "v1", "kind": f"Kind{number % 2}", "metadata": metadata}
        rows = [
            RuleResult(f"p{-at % 4}", f"r{at}", RuleType.VALIDATION, status, f"no\n{at}")
            for at, status in enumerate([Status.FAIL, Status.WARN, Status.PASS][number % 3 :])
        ]
        made = RuleResult(
            "p", "g", RuleType.GENERATION, Status.PASS, "made", generated=(GENERATED,)
        )
        found.append((Resource(body, Location("o.yaml", number + 1)), [*rows, made], {}))
    return found


def in_parts(name: str, given: ReportOptions, parts: Iterable[Iterable[Added]]) -> str:
    """Write a report as processes do that write more than one part each."""
    whole, others = (writer_of(name)(given) for _ in range(2))
    assert isinstance(whole, Divisible)
    assert isinstance(others, Divisible)
    counts: Counter[Status] = Counter()
    for part in parts:
        for resource, results, accepted in part:
            others.add(resource, results, accepted)
            counts.update(each.status for each in results)
        whole.append(pickle.loads(pickle.dumps(others.part())))  # noqa: S301 - our own
    return "".join(whole.finish(counts))


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize("per", ReportPer)
@pytest.mark.parametrize("name", FORMATS)
def test_parts_make_the_whole(name: str, per: ReportPer, size: int) -> None:
    given = replace(options(detailed=True), per=per, owner_label="app", comment_limit=2_500)
    given = replace(given, policies={f"p{each}": facts(f"p{each}") for each in ["", *range(4)]})
    added = objects()
    parts = [added[start : start + size] for start in range(0, len(added), size)]
    assert in_parts(name, given, parts) == written(name, given, added)


@pytest.mark.parametrize("name", FORMATS)
def test_parts_without_results(name: str) -> None:
    assert in_parts(name, options(), [[], []]) == written(name, options(), [])
    assert in_parts(name, options(), [[], samples(), []]) == written(name, options(), samples())


def test_a_part_of_what_is_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chartkit.report.spool._IN_MEMORY", 8)
    source, whole = Spool(), Spool()
    for part in ("one and two", "three", "", "four, five and six"):
        source.write(part)
        whole.append(source.part())
        assert source.size == 0
        assert "".join(source.pieces()) == ""
    assert "".join(whole.pieces()) == "one and twothreefour, five and six"


def test_texts_by_their_keys() -> None:
    source, whole = SortedSpool[str](), SortedSpool[str]()
    for part in ([("a", "1"), ("b", "2"), ("a", "3")], [("a", "4"), ("c", "5")]):
        for key, text in part:
            source.write(key, text)
        whole.append(source.part())
    assert {key: "".join(whole.pieces(key)) for key in "abc"} == {"a": "134", "b": "2", "c": "5"}
