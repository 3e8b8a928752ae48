"""A small chart whose policies have both forms, rendered in each of them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.helm.render import render_chart
from chartkit.model import Body
from tests.data import beside
from tests.files import write_files
from tests.unit.project.project_files import write_policy, write_profile, write_project

_TEXTS = beside(__file__)

CLUSTER, VALIDATING, ADMISSION = FORMS = (
    "ClusterPolicy",
    "ValidatingPolicy",
    "ValidatingAdmissionPolicy",
)
MINE, PLAIN = "mine", "plain"
POLICY = _TEXTS["policy"]
CEL = _TEXTS["cel"]
PARAMETERS = _TEXTS["parameters"]
_PROJECT = _TEXTS["project"]
_FOLDER = TemporaryDirectory()


@cache
def chart() -> ChartPlan:
    """own/mine has both forms, own/plain is a ClusterPolicy alone."""
    root = Path(_FOLDER.name)
    library = root / "library"
    folder = write_policy(library, f"own/{MINE}", POLICY, more=PARAMETERS)
    (folder / "cel.yaml").write_text(CEL.replace("{name}", MINE))
    write_policy(library, f"own/{PLAIN}", POLICY, more=PARAMETERS)
    (library / "parameters.yaml").write_text(
        "label: {type: string, default: team, description: The label.}\n"
    )
    write_profile(root / "own.yaml", f"policies: {{own/{MINE}: {{}}, own/{PLAIN}: {{}}}}")
    return plan(write_project(root, _PROJECT))


@cache
def chart_folder() -> Path:
    """The chart in a folder, written once: rendering a plan writes it anew each time."""
    planned = chart()
    folder = Path(_FOLDER.name) / planned.name
    return write_files(folder, {**planned.files, **planned.values})


def render(
    form: str | None, values: Mapping[str, Any], *, kube_version: str = "v1.34.0", only: str = MINE
) -> dict[str, Body]:
    """The objects of one policy by kind and name, in a form."""
    given = {"policyType": form, "kyvernoVersion": "1.19", **values}
    found = render_chart(chart_folder(), [given], namespace="kyverno", kube_version=kube_version)
    return {
        f"{each.kind}/{each.name}": each.body
        for each in found.resources
        if each.name == only or each.name.startswith(f"{only}-")
    }


def conditions(body: Body) -> dict[str, str]:
    """A policy's match conditions by name."""
    return {each["name"]: each["expression"] for each in body["spec"].get("matchConditions", ())}


def expressions(body: Body) -> Sequence[str]:
    """The expressions of a policy's validations."""
    return [each["expression"] for each in body["spec"]["validations"]]
