"""Mistakes in the files of policies that the rendered objects do not show."""

from pathlib import Path

import pytest

from chartkit.library.policies import read_library, upstream_library
from chartkit.library.templating import source_mistakes

_RULE = """\
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""
_CEL = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n"
_HEAD = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n"
_METADATA = """\
title: A title
category: Own
severity: medium
subject: [Pod]
description: Own.
minimumKyverno: "1.9"
control: {name: own, source: "https://example.com"}
"""
_TWICE = "the key 'name' stands here a second time"
_CASES = {
    "no mistake": (f"{_HEAD}  background: false\n{_RULE}", []),
    "no boolean": (
        f"{_HEAD}  background: maybe\n{_RULE}",
        ["5:3: spec.background: must be true or false, and is 'maybe'"],
    ),
    "no boolean in CEL": (
        f"{_CEL}  evaluation: {{background: {{enabled: 1}}}}\n",
        ["5:29: spec.evaluation.background.enabled: must be true or false, and is 1"],
    ),
    "a key twice": (f"{_HEAD}{_RULE}    name: s\n", [f"9:5: {_TWICE}"]),
    "a key with a slash twice": (
        f"{_HEAD}{_RULE}".replace("name: p", "name: p, annotations: {a/b: x, a/b: y}"),
        ["3:43: the key 'a/b' stands here a second time"],
    ),
}


@pytest.mark.parametrize("own_format", [False, True])
@pytest.mark.parametrize("name", _CASES)
def test_mistakes_have_their_place(tmp_path: Path, name: str, own_format: bool) -> None:
    text, expected = _CASES[name]
    (tmp_path / "own/p").mkdir(parents=True)
    (tmp_path / "own/p/policy.yaml").write_text(text)
    if own_format:
        (tmp_path / "own/p/metadata.yaml").write_text(_METADATA)
        [policy] = read_library([tmp_path]).policies.values()
        found = [*source_mistakes(policy)]
    else:
        [upstream] = upstream_library(tmp_path).find("own/p")
        found = [*source_mistakes(upstream)]
    shown = [
        f"{each.location.line}:{each.location.column}: {each.message}"
        for each in found
        if each.location
    ]
    assert shown == expected


def test_values_of_parameters_are_no_mistakes(tmp_path: Path) -> None:
    (tmp_path / "own/p").mkdir(parents=True)
    text = f'{_HEAD}  background: <%= parameter("b") %>\n{_RULE}'
    (tmp_path / "own/p/policy.yaml").write_text(text)
    (tmp_path / "own/p/metadata.yaml").write_text(_METADATA)
    [policy] = read_library([tmp_path]).policies.values()
    assert [*source_mistakes(policy)] == []
