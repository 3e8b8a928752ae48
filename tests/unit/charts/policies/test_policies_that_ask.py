"""A policy whose CEL only Kyverno has stays a ValidatingPolicy where the others go to the API
server."""

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.helm.render import RenderedChart, render_chart
from tests.unit.charts.policies.policy_forms import (
    ADMISSION,
    CEL,
    CLUSTER,
    PARAMETERS,
    POLICY,
    VALIDATING,
)
from tests.unit.project.project_files import write_policy, write_profile, write_project

_PROJECT = """\
profiles: [own.yaml]
library: [library]
environments:
  dev: {kyverno: "1.19", kubernetes: "1.34", policyType: ValidatingAdmissionPolicy}
"""
_ASKING = CEL.replace(
    "expression: variables.label in variables.labels",
    "expression: size(resource.List('v1', 'pods', 'a')) > 0 && variables.label != ''",
)


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> ChartPlan:
    root = tmp_path_factory.mktemp("asking")
    for name, cel in (("asking", _ASKING), ("alone", CEL)):
        folder = write_policy(root / "library", f"own/{name}", POLICY, more=PARAMETERS)
        (folder / "cel.yaml").write_text(cel.replace("{name}", name))
    (root / "library" / "parameters.yaml").write_text(
        "label: {type: string, default: team, description: The label.}\n"
    )
    write_profile(root / "own.yaml", "policies: {own/asking: {}, own/alone: {}}")
    return plan(write_project(root, _PROJECT))


def _rendered(chart: ChartPlan, form: str, kyverno: str) -> RenderedChart:
    values = {"policyType": form, "kyvernoVersion": kyverno}
    return render_chart(chart, [values], kube_version="v1.34.0")


@pytest.mark.parametrize(
    ("form", "kyverno", "asking", "alone"),
    [
        (ADMISSION, "1.19", VALIDATING, ADMISSION),
        (ADMISSION, "1.13", CLUSTER, ADMISSION),
        (VALIDATING, "1.19", VALIDATING, VALIDATING),
        (CLUSTER, "1.19", CLUSTER, CLUSTER),
    ],
)
def test_the_form_that_each_gets(
    chart: ChartPlan, form: str, kyverno: str, asking: str, alone: str
) -> None:
    found = {each.name: each.kind for each in _rendered(chart, form, kyverno).resources}
    assert found["asking"] == asking
    # A ValidatingAdmissionPolicy has a binding of its name.
    assert found["alone"].removesuffix("Binding") == alone
