"""The table of removed APIs: the same in both forms, and its default follows the releases."""

from __future__ import annotations

from chartkit.bundled import library_dir
from chartkit.chart.compat import matrix
from chartkit.documents import read_file
from chartkit.engine.jmespath import compile_expression
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


def test_what_came_in_a_newer_version_is_not_what_was_asked_for() -> None:
    rule = (_FOLDER / "policy.yaml").read_text("utf-8")
    key = rule.partition('- key: "{{ request.requestKind')[2].partition(" }}")[0]
    asked = compile_expression(f"request.requestKind{key}")

    def version(request: Json) -> Json:
        return asked.search({"request": request})

    kind = {"group": "policy", "version": "v1", "kind": "PodDisruptionBudget"}
    assert version({"requestKind": kind}) == "policy/v1"
    assert version({"object": {}}) == ""
