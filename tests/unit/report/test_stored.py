"""chartkit.report.stored: reports that are read back are merged, and compared with each other."""

import io
import json
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.model import Status
from chartkit.report.command_report import CommandReport, write_report
from chartkit.report.model import Guidance
from chartkit.report.outputs import Output
from chartkit.report.stored import changes, compared, merged, read_report
from tests.e2e.command import chartkit
from tests.unit.report.samples import TWO_PODS, options, samples, written


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
