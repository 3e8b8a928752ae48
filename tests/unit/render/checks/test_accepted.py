"""Known and suppressed violations of a project's workloads."""

from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.project.project import read_project
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.unit.render.test_pipeline import NEW, POD, project, rows

ENFORCE = NEW + "    action: Enforce\n    baseline: known/dev.yaml\n"
WORKLOADS = "workloads: [pod.yaml]\n"
SUPPRESS = (
    "metadata: {name: pod, namespace: default, annotations: {chartkit.dev/suppress: "
    "'- {policy: disallow-latest-tag, reason: a demo}'}}"
)


def run(folder: Path, updates: bool = False) -> RenderResult:
    found = read_project(folder)
    options = RenderOptions(tuple(found.environments.values()))
    return render_project(found, replace(options, update_baseline=updates))


def said(done: RenderResult, check: str) -> list[str]:
    return [each.message for each in rows(done, check)]


@pytest.mark.slow
def test_baseline_of_an_environment(tmp_path: Path) -> None:
    folder = project(tmp_path, ENFORCE, WORKLOADS)
    with pytest.raises(InputError, match="there is no baseline"):
        run(folder)
    written = run(folder, updates=True)
    assert not written.failed
    file = folder / "known" / "dev.yaml"
    assert said(written, "baseline")[0] == f"wrote {file}"
    assert "object: v1/Pod/default/pod" in file.read_text()
    done = run(folder)
    assert not done.failed
    (row,) = rows(done, "baseline")
    assert row.outcome is Outcome.NOTE
    assert row.message == ("1 known violation; Kyverno refuses the objects of 1 of them (Enforce)")
    # A process reads a workload once: each text has its own file.
    project(tmp_path, ENFORCE, "workloads: [fixed.yaml]\n")
    (folder / "fixed.yaml").write_text(POD.replace("nginx:latest", "nginx:1"))
    stale = [row for row in rows(run(folder), "baseline") if row.outcome is Outcome.WARNING]
    assert [_start(row) for row in stale] == ["no longer found"]
    project(tmp_path, ENFORCE, "workloads: [two.yaml]\n")
    (folder / "two.yaml").write_text(POD + "---\n" + POD.replace("name: pod", "name: other"))
    assert run(folder).failed


@pytest.mark.slow
def test_what_cannot_be_read_is_a_row_and_the_rest_is_judged(tmp_path: Path) -> None:
    folder = project(tmp_path, ENFORCE, "workloads: [apps, chart]\n")
    (folder / "apps").mkdir()
    (folder / "apps" / "pod.yaml").write_text(POD)
    bad = folder / "apps" / "bad.yaml"
    bad.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n")
    (folder / "chart" / "templates").mkdir(parents=True)
    (folder / "chart" / "Chart.yaml").write_text(
        "apiVersion: v2\nname: chart\nversion: 1.0.0\n"
        "dependencies: [{name: other, version: 1.0.0, repository: 'https://example.com'}]\n"
    )
    written = run(folder, updates=True)
    assert written.failed
    assert [row.outcome for row in rows(written, "unread")] == [Outcome.FAIL, Outcome.FAIL]
    places = [row.location for row in rows(written, "unread")]
    assert [place and place.file for place in places] == [
        str(bad),
        str(folder / "chart/Chart.yaml"),
    ]
    known = (folder / "known" / "dev.yaml").read_text()
    assert "object: v1/Pod/default/pod" in known
    # What is known of objects that were not read stays. A process reads a workload once.
    other = (folder / "apps").rename(folder / "other")
    (other / "pod.yaml").write_text("kind: Pod\napiVersion: [\n")
    project(tmp_path, ENFORCE, "workloads: [other]\n")
    assert len(said(run(folder, updates=True), "unread")) == 2
    assert (folder / "known" / "dev.yaml").read_text() == known
    last = other.rename(folder / "last")
    (last / "right.yaml").write_text(POD)
    project(tmp_path, ENFORCE, "workloads: [last]\nexclude: [bad.yaml, last/pod.yaml]\n")
    done = run(folder)
    assert (done.failed, rows(done, "unread")) == (False, [])


def _start(row: Row) -> str:
    return row.message.partition(":")[0]


@pytest.mark.slow
def test_suppressed_violation_is_a_note(tmp_path: Path) -> None:
    folder = project(tmp_path, NEW + "    action: Enforce\n", WORKLOADS)
    text = POD.replace("metadata: {name: pod, namespace: default}", SUPPRESS)
    (folder / "pod.yaml").write_text(text)
    done = run(folder)
    assert not done.failed
    (message,) = said(done, "suppressed")
    assert message.startswith("Pod/default/pod: disallow-latest-tag")
    assert message.endswith("suppressed: a demo")


@pytest.mark.parametrize("rest", ["suppressions: false\n", ""])
def test_suppressions_can_be_forbidden(tmp_path: Path, rest: str) -> None:
    own = "" if rest else "    suppressions: false\n"
    folder = project(tmp_path, NEW + "    action: Enforce\n" + own, WORKLOADS + rest)
    (folder / "pod.yaml").write_text(
        POD.replace("metadata: {name: pod, namespace: default}", SUPPRESS)
    )
    done = run(folder)
    assert done.failed
    (message,) = said(done, "suppressed")
    assert message == "chartkit.dev/suppress does not count: suppressions are off"
