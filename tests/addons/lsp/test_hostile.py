"""Files of every kind, one after another: the server answers, and says nothing of a bug."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from lsprotocol import types

from chartkit.addons.lsp.checks import LARGEST
from tests.addons.lsp.editor import codes, editor
from tests.addons.lsp.test_diagnostics import POD, PRIVILEGED
from tests.shared import shared

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghi")
)
_DEEP = "a: " + "[" * 50_000
_TEXTS = {
    "bomb.yaml": "apiVersion: v1\nkind: Pod\n" + _BOMB,
    "deep.yaml": _DEEP,
    "nul.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: 'a\x00b'}\n",
    "surrogates.yaml": "apiVersion: v1\nkind: '😀'\nmetadata: {annotations: 1}\n",
    "list.yaml": "apiVersion: v1\nkind: List\nitems: [1, {kind: Pod}]\n",
    "chartkit.yaml": "- 1\n",
    "kyverno-test.yaml": "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nresults: 7\n",
    "policy.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: {rules: [{mutate: 1}]}\n",
    "long.yaml": "# " + "x" * (LARGEST + 1),
}


async def test_one_bad_file_ends_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "work/pod.yaml"
    good.parent.mkdir()
    good.write_text(POD)
    async with editor(tmp_path) as work:
        for name, text in _TEXTS.items():
            file = tmp_path / name
            file.write_text("")
            work.open(file, text)
            found = await work.diagnostics(file)
            assert found or name == "surrogates.yaml", name
            await work.hover(file, 1, 1)
            await work.completions(file, 0, 3)
            await work.actions(file, 0)
            work.close(file)
        work.open(good)
        await work.diagnostics(good, lambda found: PRIVILEGED in codes(found))
    assert "bug" not in capfd.readouterr().err


async def test_all_known_faults_are_survived(capfd: pytest.CaptureFixture[str]) -> None:
    folder = shared("faults")
    files = [
        path for path in sorted(folder.rglob("*")) if path.suffix in (".yaml", ".yml", ".json")
    ]
    assert len(files) > 50
    async with editor(folder) as work:
        for file in files:
            work.open(file, file.read_bytes().decode("utf-8", "replace"))
            found = await work.diagnostics(file)
            for line in {each.range.start.line for each in found[:3]}:
                await work.hover(file, line, found[0].range.start.character)
                await work.actions(file, line, types.CodeActionTriggerKind.Automatic)
            work.close(file)
    err = capfd.readouterr().err
    assert "bug" not in err
    assert "Traceback" not in err
