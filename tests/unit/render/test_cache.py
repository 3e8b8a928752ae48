"""Results of renders that are kept: the same report in every format, and only what is lasting."""

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from chartkit.cli.render import _report
from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.helm.kept import may_differ, templates_of
from chartkit.model import Location
from chartkit.output import atomic_folder
from chartkit.output.write import compose
from chartkit.project.project import Project, read_project
from chartkit.render import cache, pipeline
from chartkit.render.cache import cached_result
from chartkit.render.chart import CheckTarget
from chartkit.render.checks.run import check_environment
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import (
    RenderOptions,
    asks_for_all,
    lay_out,
    plan_charts,
    render_project,
)
from chartkit.report.command_report import write_report
from chartkit.report.formats import FORMATS
from chartkit.report.outputs import Output
from chartkit.report.text.layout import Screen
from tests.data import from_table

ROOT = Path(__file__).parents[3]
PROJECT = """\
workloads: [app.yaml]
environments:
  dev: {kyverno: "1.19", kubernetes: "1.34"}
"""
NOTE = Row("dev", "workloads", Outcome.NOTE, "a note", None, "do\nthis")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("CHARTKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CHARTKIT_HELM", "library")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "chartkit.yaml").write_text(PROJECT)
    (folder / "app.yaml").write_text("a: 1\n")
    return read_project(folder)


class Renders:
    """Renders that give one result, counted."""

    def __init__(self, result: RenderResult) -> None:
        self.result, self.count = result, 0

    def __call__(self) -> RenderResult:
        self.count += 1
        return self.result


def rows(project: Project) -> tuple[Row, ...]:
    (document,) = read_file(project.file)
    return (
        NOTE,
        Row("", "charts", Outcome.PASS, "\udc80 ✓", document.locate("environments", "dev")),
        Row("dev", "helm", Outcome.WARNING, "w", document.locate("workloads", 0), "h"),
        Row("dev, qa", "files", Outcome.WARNING, "w", Location("there.yaml")),
    )


def shown(result: RenderResult, output: str) -> str:
    screen, stdout = Screen(False, None), StringIO()
    write_report(_report(result, True, False), [Output(output)], stdout, screen, None)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "", stdout.getvalue())


@pytest.mark.parametrize("drift", ["", "--- a\n+++ b\n"])
def test_a_result_that_is_kept_is_reported_alike(project: Project, drift: str) -> None:
    first = RenderResult(rows(project), drift, is_repeatable=True)
    renders = Renders(first)
    assert cached_result(project, (), {"check": True}, renders) is first
    second = cached_result(project, (), {"check": True}, renders)
    assert renders.count == 1
    assert (second.rows, second.drift, second.written) == (first.rows, drift, ())
    assert second.failed is first.failed
    for each in FORMATS:
        if each not in ("policyreport", "openreports"):
            assert shown(second, each) == shown(first, each), each
    assert "environments:" in shown(second, "html")


@pytest.mark.parametrize(
    "result",
    [
        RenderResult((NOTE,)),
        RenderResult((NOTE,), written=(Path("charts"),), is_repeatable=True),
        RenderResult((Row("dev", "helm", Outcome.FAIL, "f"),), is_repeatable=True),
    ],
    ids=["by chance", "written", "failed"],
)
def test_what_may_not_last_is_not_kept(project: Project, result: RenderResult) -> None:
    renders = Renders(result)
    for count in (1, 2):
        assert cached_result(project, (), {}, renders) is result
        assert renders.count == count


def test_other_inputs_are_rendered(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    renders = Renders(RenderResult((NOTE,), is_repeatable=True))
    cached_result(project, (), {}, renders)
    (project.root / "app.yaml").write_text("a: 2\n")
    cached_result(project, (), {}, renders)
    cached_result(project, (), {"check": True}, renders)
    assert renders.count == 3
    cached_result(project, (), {"check": True}, renders)
    assert renders.count == 3
    monkeypatch.setattr(cache, "inputs_digest", lambda *_: None)
    cached_result(project, (), {"check": True}, renders)
    assert renders.count == 4


def test_inputs_that_change_meanwhile(project: Project) -> None:
    result, count = RenderResult((NOTE,), is_repeatable=True), 0

    def render() -> RenderResult:
        nonlocal count
        count += 1
        (project.root / "app.yaml").write_text(f"a: {count + 1}\n")
        return result

    for _ in range(3):
        cached_result(project, (), {}, render)
    (project.root / "app.yaml").write_text("a: 2\n")
    cached_result(project, (), {}, render)
    assert count == 4


def test_a_workload_with_the_time_is_not_kept(project: Project) -> None:
    (project.root / "app.yaml").write_text("at: {{ now | date }}\n")
    renders = Renders(RenderResult((NOTE,), is_repeatable=True))
    for _ in range(2):
        cached_result(project, (), {}, renders)
    assert renders.count == 2


def test_a_render_that_would_write_waits_for_no_other(project: Project) -> None:
    renders = Renders(RenderResult((NOTE,), is_repeatable=True))
    cached_result(project, (), {}, renders)
    with atomic_folder.lock(project.root), pytest.raises(InputError, match="another render"):
        cached_result(project, (), {}, renders)


@from_table("text", "expected")
def test_what_may_differ(text: str, expected: bool) -> None:
    assert may_differ([text]) is may_differ(["", text.encode()]) is expected


def test_long_texts_are_looked_through_once() -> None:
    """With a look ahead at each word, or for the end of each comment, these would take hours."""
    assert not may_differ(["now " * 300_000, "{{/* " * 300_000])
    assert may_differ([f"{'now ' * 300_000}{{{{ now }}}}"])


TWO = """\
environments:
  dev: {kyverno: "1.19", kubernetes: "1.34", engine: false}
  qa: {kyverno: "1.19", kubernetes: "1.34", engine: false}
"""


@pytest.mark.slow
def test_environments_whose_inputs_are_as_they_were_are_not_checked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = list[str]()

    def check(subject: CheckTarget, *rest: Any) -> list[Row]:
        checked.append(subject.environment.name)
        return check_environment(subject, *rest)

    def render(is_check: bool = False, uses_cache: bool = True) -> list[str]:
        checked.clear()
        found = read_project(project.root)
        every = tuple(found.environments.values())
        result = render_project(found, RenderOptions(every, check=is_check, uses_cache=uses_cache))
        notes.append([each for each in result.rows if each.check != "files"])
        return list(checked)

    notes = list[list[Row]]()
    monkeypatch.setattr(pipeline, "check_environment", check)
    (project.root / "chartkit.yaml").write_text(TWO)
    assert render() == ["dev", "qa"]
    assert render() == ["dev", "qa"], "what was written is compared with the last render"
    assert render() == []
    assert notes[-1] == notes[-2]
    assert render(uses_cache=False) == ["dev", "qa"]
    assert notes[-1] == notes[-2]
    values = project.root / "charts" / "kyverno-policies" / "values_qa.yaml"
    values.write_text(f"{values.read_text()}failurePolicy: Fail\n")
    assert render() == ["qa"]
    (project.root / "chartkit.yaml").write_text(f"# a line more\n{TWO}")
    assert render() == ["dev", "qa"]


@from_table("text", "is_any")
def test_values_that_may_read_any_file(text: str, is_any: bool) -> None:
    body = {"a": [{text: 1}]}
    assert any(map(asks_for_all, templates_of(body))) is is_any


@pytest.mark.slow
def test_charts_are_laid_out_without_values_of_environments(tmp_path: Path) -> None:
    """A change of one environment is none of the others, in chartkit's own charts."""
    found = read_project(ROOT)
    environments = found.environments.values()
    for plan in plan_charts(found, {}):
        tree = compose(plan, tmp_path / plan.name)
        folder = lay_out(tree, tmp_path, environments, is_upstream=False).folder
        assert not list(folder.rglob("values_*"))
        assert (folder / "values.yaml").is_file()
        (tree.folder / "templates" / "more.yaml").write_text("a: 1\n")
        (tmp_path / "again").mkdir(exist_ok=True)
        folder = lay_out(tree, tmp_path / "again", environments, is_upstream=False).folder
        assert (folder / "values_dev.yaml").is_file()
