"""Charts and projects in an editor: Helm renders in the background."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.addons.lsp.editor import applied, at, codes, editor
from tests.addons.lsp.test_diagnostics import LABELLED, POD, PRIVILEGED
from tests.data import beside
from tests.small_charts import write_project

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]

_TEMPLATE = beside(__file__)["template"]
_VALUES = "enabled: true\nprivileged: true\n"


def _chart(folder: Path) -> tuple[Path, Path]:
    """Write a chart, and return its template and its values."""
    template, values = folder / "shop/templates/pod.yaml", folder / "shop/values.yaml"
    template.parent.mkdir(parents=True)
    (folder / "shop/Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    template.write_text(_TEMPLATE)
    values.write_text(_VALUES)
    return template, values


async def test_a_violation_is_at_the_line_of_the_template(tmp_path: Path) -> None:
    template, values = _chart(tmp_path)
    async with editor(tmp_path) as work:
        work.open(template)
        found = await work.diagnostics(template)
        privileged = next(each for each in found if each.code == PRIVILEGED)
        assert at(privileged) == (10, 6, 10, 42)
        assert "the value at shop/values.yaml:2:1" in await work.hover(template, 10, 8)
        # A line above moves it, though nothing is saved.
        work.replace(template, (0, 0, 0, 0), "{{- /* a Pod */}}\n")
        await work.diagnostics(
            template,
            lambda found: (11, 6, 11, 42) in [at(e) for e in found if e.code == PRIVILEGED],
        )
        assert "livenessProbe" in await work.completions(template, 10, 4)
        work.open(values, _VALUES.replace("privileged: true", "privileged: false"))
        await work.diagnostics(template, lambda found: PRIVILEGED not in codes(found))
        assert values.read_text() == _VALUES


async def test_a_fix_changes_the_value_that_the_template_shows(tmp_path: Path) -> None:
    template, values = _chart(tmp_path)
    async with editor(tmp_path) as work:
        work.open(template)
        await work.diagnostics(template)
        actions = await work.actions(template, 10)
        after = applied(actions[f"Fix {PRIVILEGED}"], {values: _VALUES})
        assert after == {values: "enabled: true\nprivileged: false\n"}
        exception = actions[f"Write an exception from {PRIVILEGED}"]
        (new,) = {*applied(exception, {})}
        assert new.parent == tmp_path


async def test_what_helm_refuses_is_at_its_place(tmp_path: Path) -> None:
    template, _ = _chart(tmp_path)
    async with editor(tmp_path) as work:
        work.open(template, _TEMPLATE.replace("{{ .Values.privileged }}", "{{ nosuch }}"))
        found = await work.diagnostics(template)
        assert [each.code for each in found] == ["unread"]
        assert at(found[0])[0] == 10
        work.replace(template, (10, 0, 11, 0), "      privileged: true\n")
        await work.diagnostics(template, lambda found: PRIVILEGED in codes(found))


async def test_values_of_an_environment_are_rendered_while_they_are_edited(tmp_path: Path) -> None:
    template, values = _chart(tmp_path)
    values.write_text("enabled: false\n")
    production = values.with_name("values_prd.yaml")
    production.write_text(_VALUES)
    async with editor(tmp_path) as work:
        work.open(template)
        assert not await work.diagnostics(template)
        work.open(production)
        await work.diagnostics(template, lambda found: PRIVILEGED in codes(found))


async def test_without_helm_a_chart_has_a_note_and_manifests_are_judged(tmp_path: Path) -> None:
    template, _ = _chart(tmp_path)
    pod = tmp_path / "pod.yaml"
    pod.write_text(POD)
    nowhere = {"PATH": os.path.dirname(sys.executable), "CHARTKIT_HELM": "program"}
    async with editor(tmp_path, variables=nowhere) as work:
        work.open(template)
        found = await work.diagnostics(template.parents[1] / "Chart.yaml")
        assert "the chart is not judged: there is no `helm` program on PATH" in found[0].message
        work.open(pod)
        await work.diagnostics(pod, lambda found: PRIVILEGED in codes(found))


async def test_policies_of_a_project_judge(tmp_path: Path) -> None:
    write_project(tmp_path, policies=[yaml.safe_load(LABELLED)])
    pod = tmp_path / "apps/pod.yaml"
    pod.parent.mkdir()
    pod.write_text(POD)
    async with editor(tmp_path, "--env", "prd") as work:
        work.open(pod)
        found = await work.diagnostics(pod)
        assert "labelled/team" in codes(found)
        assert PRIVILEGED not in codes(found)
    async with editor(tmp_path, "--env", "nowhere") as work:
        work.open(pod)
        await work.diagnostics(pod, lambda found: PRIVILEGED in codes(found))
        found = await work.diagnostics(tmp_path / "chartkit.yaml")
        assert "there is no environment 'nowhere'" in found[0].message
