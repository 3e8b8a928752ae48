"""The policy about removed APIs: both forms ask one table; the default follows releases."""

from collections.abc import Sequence

import pytest

from chartkit.bundled import library_dir
from chartkit.documents.reader import read_file
from chartkit.engine.jmespath import compile_expression
from chartkit.engine.kubernetes.field_faults import NEWEST, OLDEST, kind_fault
from chartkit.kyverno.matrix import matrix
from chartkit.kyverno.releases import removed_apis
from chartkit.model import Json
from tests.data import from_table

_FOLDER = library_dir() / "eks-best-practices" / "disallow-deprecated-apis"


def test_both_forms_take_the_table_of_the_facts() -> None:
    for file in ("policy.yaml", "cel.yaml"):
        assert "in removed_apis() %>" in (_FOLDER / file).read_text("utf-8")
    table = removed_apis()
    assert len(table) > 30
    assert [row[0] for row in table] == sorted(row[0] for row in table)


@pytest.mark.parametrize(("kubernetes", "api_version", "kinds"), removed_apis())
def test_the_table_says_what_the_schemas_of_kubernetes_say(
    kubernetes: str, api_version: str, kinds: Sequence[str]
) -> None:
    minor = int(kubernetes.partition(".")[2])
    for kind in kinds:
        if OLDEST < minor <= NEWEST:
            assert kind_fault(api_version, kind, minor - 1) is None
            assert kind_fault(api_version, kind, minor) is not None
        elif minor > NEWEST:
            assert kind_fault(api_version, kind, NEWEST) is None


def test_the_default_is_the_newest_release_of_the_matrix() -> None:
    target = read_file(_FOLDER / "metadata.yaml")[0].body["parameters"]["targetVersion"]
    newest = max(row.newest for row in matrix().values())
    assert target["default"] == str(newest)


@from_table("request_", "judged")
def test_only_what_came_in_the_old_version_is_judged(request_: Json, judged: bool) -> None:
    rule = (_FOLDER / "policy.yaml").read_text("utf-8")
    text = rule.partition("- key: >-\n")[2].partition("{{")[2].partition("}}")[0]
    asked = compile_expression(" ".join(text.split()))
    given = {**request_, "object": {"apiVersion": "policy/v1beta1"}}
    assert asked.search({"request": given}) is judged
