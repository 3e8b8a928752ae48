"""The table of removed APIs: the same in both forms, and its default follows the releases."""

from __future__ import annotations

import pytest

from chartkit.bundled import library_dir
from chartkit.documents.reader import read_file
from chartkit.engine.jmespath import compile_expression
from chartkit.kyverno.matrix import matrix
from chartkit.model import Json

_FOLDER = library_dir() / "eks-best-practices" / "disallow-deprecated-apis"


def _table(file: str) -> str:
    return (_FOLDER / file).read_text("utf-8").partition("apiVersion: ")[0]


def test_both_forms_have_the_same_table() -> None:
    assert _table("policy.yaml").count("\n") > 30
    assert _table("policy.yaml") == _table("cel.yaml")


def test_the_default_is_the_newest_release_of_the_matrix() -> None:
    target = read_file(_FOLDER / "metadata.yaml")[0].body["parameters"]["targetVersion"]
    newest = max(row.newest for row in matrix().values())
    assert target["default"] == str(newest)


@pytest.mark.parametrize(
    ("request_", "judged"),
    [
        ({}, True),
        ({"operation": "CREATE", "requestKind": {"group": "policy", "version": "v1beta1"}}, True),
        ({"operation": "CREATE", "requestKind": {"group": "policy", "version": "v1"}}, False),
        ({"operation": "UPDATE", "requestKind": {"group": "apps", "version": "v1beta1"}}, False),
        ({"operation": "DELETE"}, False),
    ],
)
def test_only_what_came_in_the_old_version_is_judged(request_: Json, judged: bool) -> None:
    rule = (_FOLDER / "policy.yaml").read_text("utf-8")
    text = rule.partition("- key: >-\n")[2].partition("{{")[2].partition("}}")[0]
    asked = compile_expression(" ".join(text.split()))
    given = {**request_, "object": {"apiVersion": "policy/v1beta1"}}
    assert asked.search({"request": given}) is judged
