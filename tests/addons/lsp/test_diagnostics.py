"""Diagnostics of files as an editor gets them, while they are open and unsaved."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.addons.lsp.editor import at, codes, editor
from tests.data import beside
from tests.e2e.command import chartkit
from tests.shared import shared

_TEXTS = beside(__file__)

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]

POD = _TEXTS["pod"]
PRIVILEGED = "disallow-privileged-containers/privileged-containers"
LABELLED = _TEXTS["labelled"]


async def test_a_manifest_has_its_violations_at_their_fields(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    async with editor(tmp_path) as work:
        work.open(file)
        found = await work.diagnostics(file)
        privileged = next(each for each in found if each.code == PRIVILEGED)
        assert at(privileged) == (7, 22, 7, 39)
        assert privileged.source == "chartkit"
        assert privileged.message.startswith("validation error: Privileged containers")


async def test_positions_are_counted_in_utf_16_and_unsaved_text_counts(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    async with editor(tmp_path) as work:
        work.open(file)
        await work.diagnostics(file, lambda found: PRIVILEGED in codes(found))
        # Two units of UTF-16 before the field.
        work.replace(file, (7, 4, 7, 39), 'securityContext: {"😀": 1, privileged: true}')
        found = await work.diagnostics(file, lambda found: "object-fields" in codes(found))
        privileged = next(each for each in found if each.code == PRIVILEGED)
        assert at(privileged)[:2] == (7, 31)
        work.replace(file, (7, 0, 8, 0), "    securityContext: {privileged: false}\n")
        await work.diagnostics(file, lambda found: PRIVILEGED not in codes(found))
        assert "privileged: true" in file.read_text()
        work.close(file)
        await work.diagnostics(file, lambda found: not found)
        work.open(file)
        await work.diagnostics(file, lambda found: PRIVILEGED in codes(found))


async def test_diagnostics_are_the_failures_of_a_scan_at_the_same_lines() -> None:
    folder = shared("real")
    for file in sorted(folder.glob("*.yaml")):
        done = chartkit(folder, "scan", file.name, "-o", "json")
        failures = [each for each in json.loads(done.out)["results"] if each["result"] == "fail"]
        wanted = Counter(
            (f"{each['policy']}/{each['rule']}", int(each["location"].split(":")[1]) - 1)
            for each in failures
        )
        assert wanted
        async with editor(folder) as work:
            work.open(file)
            found = await work.diagnostics(file)
            assert Counter((each.code, at(each)[0]) for each in found) == wanted


async def test_broken_yaml_is_an_error_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    async with editor(tmp_path) as work:
        work.open(file, POD + "  a: [\n")
        found = await work.diagnostics(file)
        assert [each.code for each in found] == ["unread"]
        work.replace(file, (8, 0, 9, 0), "")
        await work.diagnostics(file, lambda found: PRIVILEGED in codes(found))


async def test_a_policy_of_a_project_judges_as_it_is_in_the_editor(tmp_path: Path) -> None:
    pod, policy = tmp_path / "pod.yaml", tmp_path / "labelled.yaml"
    pod.write_text(POD)
    policy.write_text(LABELLED)
    async with editor(tmp_path, "-p", str(policy)) as work:
        work.open(pod)
        found = await work.diagnostics(pod)
        assert codes(found) == {"labelled/team"}
        assert at(found[0]) == (2, 0, 2, 21)
        work.open(policy, LABELLED.replace("team: ", "owner: ").replace("name: team", "name: own"))
        work.replace(pod, (0, 0, 0, 0), "# Pod\n")
        await work.diagnostics(pod, lambda found: codes(found) == {"labelled/own"})


async def test_a_patch_of_a_kustomization_is_not_judged_by_itself(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("patches: [{path: pod.yaml}]\n")
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    async with editor(tmp_path) as work:
        work.open(file)
        found = await work.diagnostics(file)
        assert [each.message for each in found] == [
            "a patch of a kustomization is judged where it is built"
        ]


async def test_a_policy_is_linted(tmp_path: Path) -> None:
    policy = tmp_path / "labelled.yaml"
    policy.write_text(LABELLED)
    async with editor(tmp_path) as work:
        work.open(policy, LABELLED.replace("failureAction", "failureActoin"))
        found = await work.diagnostics(policy)
        misspelt = next(each for each in found if "failureActoin" in each.message)
        assert at(misspelt)[:2] == (9, 6)
        work.replace(policy, (9, 6, 9, 19), "failureAction")
        await work.diagnostics(policy, lambda found: not found)


async def test_a_test_file_is_run(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "policy.yaml").write_text(LABELLED)
    test = tmp_path / "kyverno-test.yaml"
    text = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: labelled}
policies: [policy.yaml]
resources: [pod.yaml]
results:
- policy: labelled
  rule: team
  resources: [web]
  kind: Pod
  result: pass
"""
    test.write_text(text)
    async with editor(tmp_path) as work:
        work.open(test)
        found = await work.diagnostics(test)
        assert "Want pass, got fail" in found[0].message
        assert at(found[0])[0] == 6
        work.replace(test, (10, 10, 10, 14), "fail")
        await work.diagnostics(test, lambda found: not found)
        work.replace(test, (10, 2, 10, 8), "resutl")
        found = await work.diagnostics(test, bool)
        assert at(found[0])[:2] == (10, 2)


async def test_a_project_file_has_its_mistakes(tmp_path: Path) -> None:
    project = tmp_path / "chartkit.yaml"
    text = (
        'profiles: [pss-restricted]\nenvironments:\n  prd: {kyverno: "1.19", kubernetes: "1.34"}\n'
    )
    project.write_text(text)
    async with editor(tmp_path) as work:
        work.open(project)
        assert not await work.diagnostics(project)
        work.replace(project, (0, 11, 0, 25), "pss-restrictd")
        found = await work.diagnostics(project, bool)
        assert at(found[0])[0] == 0
        assert "pss-restrictd" in found[0].message
        work.replace(project, (0, 0, 0, 8), "profile")
        found = await work.diagnostics(project, lambda found: "CK001" in codes(found))
        assert at(found[0])[:2] == (0, 0)


async def test_charts_that_are_not_rendered_yet_are_named(tmp_path: Path) -> None:
    text = 'profiles: [pss-baseline]\nenvironments:\n  prd: {kyverno: "1.19", kubernetes: "1.34"}\n'
    (tmp_path / "chartkit.yaml").write_text(text)
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    async with editor(tmp_path) as work:
        work.open(file)
        found = await work.diagnostics(file, lambda found: "policies" in codes(found))
        (note,) = [each.message for each in found if each.code == "policies"]
    where = Path("charts", "kyverno-policies", "values_prd.yaml")
    assert note.startswith(f"the policies cannot be loaded: {where}: there is no such values file;")


async def test_a_newer_version_takes_the_place_of_an_older_check(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text("---\n".join(POD.replace("web}", f"web-{n}}}") for n in range(50)))
    async with editor(tmp_path) as work:
        work.open(file)
        for _ in range(40):
            work.replace(file, (0, 0, 0, 0), "#")
            await asyncio.sleep(0.01)
        lines = file.read_text().split("\n")
        last = len(lines) - 2
        await work.diagnostics(file, lambda found: any(at(each)[0] == last for each in found))
