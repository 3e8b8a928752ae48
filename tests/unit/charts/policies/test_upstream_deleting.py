"""A DeletingPolicy from another library: what values exclude from it stays."""

from typing import Any

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.errors import RenderError
from chartkit.helm.render import render_chart
from chartkit.model import Body, Resource
from chartkit.project.project import read_project
from chartkit.scan.policies import compile_all
from chartkit.scan.verdicts import judge
from tests.data import from_table
from tests.unit.library.upstream_files import DELETING, vendored
from tests.unit.project.project_files import write_profile, write_project

_PROJECT = """\
profiles: [./all.yaml]
environments:
  prd: {kyverno: "1.19", kubernetes: "1.35"}
"""


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> ChartPlan:
    root = tmp_path_factory.mktemp("project")
    vendored(root, "theirs", {"a/deleter": DELETING})
    write_profile(root / "all.yaml", "policies: {theirs/a/deleter: {}}")
    write_project(root, _PROJECT)
    return plan(read_project(root))


def _deleter(chart: ChartPlan, **values: Any) -> Resource:
    rendered = render_chart(chart, [{"kyvernoVersion": "1.19", **values}])
    (found,) = (each for each in rendered.resources if each.kind == "DeletingPolicy")
    return found


def _excluding(**resources: Any) -> Body:
    return {"any": [{"resources": resources}]}


def _pod(name: str, namespace: str = "default", **labels: str) -> Resource:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


_KEPT = {"matchLabels": {"keep": "1"}}


@pytest.mark.parametrize(
    ("values", "deleted"),
    [
        ({}, ["a", "b", "c"]),
        ({"exclude": _excluding(namespaces=["kube-*"])}, ["a", "c"]),
        ({"policies": {"deleter": {"exclude": _excluding(names=["a*"])}}}, ["b", "c"]),
        ({"policyExclude": {"deleter": _excluding(kinds=["Pod"])}}, []),
        (
            {
                "exclude": _excluding(namespaces=["kube-*"]),
                "policies": {"deleter": {"exclude": _excluding(selector=_KEPT)}},
            },
            ["a"],
        ),
    ],
)
def test_what_is_excluded_is_not_deleted(
    chart: ChartPlan, values: Body, deleted: list[str]
) -> None:
    compiled = compile_all([_deleter(chart, **values)])
    assert not compiled.diagnostics
    pods = [_pod("a"), _pod("b", "kube-system"), _pod("c", keep="1")]
    verdicts = {each.name: judge((), compiled.cleanup, each) for each in pods}
    assert not any(verdict.error for verdict in verdicts.values())
    assert [name for name, verdict in verdicts.items() if verdict.acts] == deleted


@from_table("excluded", "said")
def test_a_deletion_is_no_request(chart: ChartPlan, excluded: Body, said: str) -> None:
    with pytest.raises(RenderError, match=rf"policy deleter: .*{said}"):
        _deleter(chart, policies={"deleter": {"exclude": {"any": [excluded]}}})
