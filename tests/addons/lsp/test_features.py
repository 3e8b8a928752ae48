"""Hover, completion and code actions, as an editor asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lsprotocol import types

from tests.addons.lsp.editor import applied, codes, editor
from tests.addons.lsp.test_diagnostics import LABELLED, POD, PRIVILEGED
from tests.data import beside

_TEXTS = beside(__file__)

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]

POLICY = _TEXTS["policy"]
PROJECT = _TEXTS["project"]


async def test_a_hover_says_what_a_policy_wants_and_why(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    async with editor(tmp_path) as work:
        work.open(file)
        await work.diagnostics(file)
        text = await work.hover(file, 7, 25)
        assert text.startswith(f"**{PRIVILEGED}**")
        assert "What to do: Set securityContext.privileged to false" in text
        assert (
            "spec.containers[0].securityContext.privileged is true; the pattern wants false" in text
        )
        assert "pod.yaml:8:" in text
        assert str(tmp_path) not in text
        host = tmp_path / "host.yaml"
        host.write_text("apiVersion: v1\nkind: Pod\nspec:\n  hostPID: true\n")
        work.open(host)
        await work.diagnostics(host)
        text = await work.hover(host, 3, 4)
        assert text.endswith("**hostPID**: boolean\n\nOne of `true`, `false`.")
        assert await work.hover(file, 0, 2) == "**apiVersion**: string"


async def test_a_hover_explains_policies(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    async with editor(tmp_path) as work:
        work.open(file)
        await work.diagnostics(file)
        assert "`Audit`, `Enforce`" in await work.hover(file, 8, 10)
        assert "shown to whoever is refused" in await work.hover(file, 9, 8)
        assert "to_upper(string) string" in await work.hover(file, 9, 22)
        assert "string.startsWith(string) -> bool" in await work.hover(file, 24, 42)


async def test_a_hover_explains_the_project_file(tmp_path: Path) -> None:
    file = tmp_path / "chartkit.yaml"
    file.write_text(PROJECT)
    async with editor(tmp_path) as work:
        work.open(file)
        await work.diagnostics(file)
        assert "Profiles that every environment uses" in await work.hover(file, 0, 3)
        assert "Restrict image registries" in await work.hover(file, 6, 10)


async def test_fields_kinds_and_functions_are_completed(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    async with editor(tmp_path) as work:
        work.open(file)
        await work.diagnostics(file)
        work.replace(file, (8, 6, 8, 26), "")
        fields = await work.completions(file, 8, 6)
        assert {"failureAction", "anyPattern", "podSecurity"} <= {*fields}
        assert "message" not in fields
        assert "to_upper" in await work.completions(file, 9, 22)
        work.replace(file, (14, 22, 14, 28), "")
        assert "DurationLessThan" in await work.completions(file, 14, 22)
        assert {"startsWith", "object"} <= {*await work.completions(file, 24, 40)}
        pod = tmp_path / "pod.yaml"
        work.open(pod, POD.replace("    securityContext", "    \n    securityContext"))
        fields = await work.completions(pod, 7, 4)
        assert "livenessProbe" in fields
        assert "image" not in fields
        work.replace(pod, (1, 6, 1, 9), "")
        assert "ReplicationController" in await work.completions(pod, 1, 6)


async def test_policies_and_parameters_are_completed(tmp_path: Path) -> None:
    file = tmp_path / "chartkit.yaml"
    file.write_text(PROJECT)
    async with editor(tmp_path) as work:
        work.open(file, PROJECT + "    \n")
        await work.diagnostics(file)
        work.replace(file, (8, 10, 8, 47), "")
        assert await work.completions(file, 8, 10) == ["allowedRegistries"]
        assert "policyType" in await work.completions(file, 9, 4)
        work.replace(file, (6, 6, 9, 4), "    ")
        assert "disallow-privileged-containers" in await work.completions(file, 6, 6)


async def test_a_fix_ends_the_violation(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("# unsaved text counts\n")
    async with editor(tmp_path) as work:
        work.open(file, POD)
        await work.diagnostics(file, bool)
        actions = await work.actions(file, 7)
        fix = actions[f"Fix {PRIVILEGED}"]
        assert fix.is_preferred
        assert fix.diagnostics is not None
        assert codes(fix.diagnostics) == {PRIVILEGED}
        after = applied(fix, {file: POD})[file]
        assert after == POD.replace("privileged: true", "privileged: false")
        automatic = await work.actions(file, 7, types.CodeActionTriggerKind.Automatic)
        assert not any(title.startswith("Fix") for title in automatic)
        assert file.read_text() == "# unsaved text counts\n"


async def test_a_suppression_holds_once_it_has_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    text = POD.replace("metadata: {name: web}", "metadata:\n  name: web")
    file.write_text(text)
    async with editor(tmp_path) as work:
        work.open(file)
        await work.diagnostics(file)
        action = (await work.actions(file, 8))[f"Suppress {PRIVILEGED} with a reason"]
        after = applied(action, {file: text})[file]
        work.replace(file, (0, 0, 9, 0), after)
        found = await work.diagnostics(file, lambda found: "CK601" in codes(found))
        assert PRIVILEGED in codes(found)
        line = next(at for at, each in enumerate(after.split("\n")) if "reason:" in each)
        column = after.split("\n")[line].index('""')
        work.replace(file, (line, column, line, column + 2), "It is a node agent.")
        await work.diagnostics(file, lambda found: PRIVILEGED not in codes(found))


async def test_an_exception_is_a_new_file(tmp_path: Path) -> None:
    pod, policy = tmp_path / "pod.yaml", tmp_path / "labelled.yaml"
    pod.write_text(POD)
    policy.write_text(LABELLED)
    async with editor(tmp_path, "-p", str(policy)) as work:
        work.open(pod)
        await work.diagnostics(pod, bool)
        action = (await work.actions(pod, 2))["Write an exception from labelled/team"]
        (new,) = {*applied(action, {pod: POD})} - {pod}
        body = yaml.safe_load(applied(action, {pod: POD})[new])
        assert new.parent == tmp_path
        assert not new.exists()
        assert body["kind"] == "PolicyException"
        assert body["spec"]["exceptions"][0]["policyName"] == "labelled"
        assert body["spec"]["match"]["any"][0]["resources"]["names"] == ["web"]
