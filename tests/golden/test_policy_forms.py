"""One profile in each form as four Kyverno versions get it, to the letter.

`pytest tests/golden --update-golden` writes the expectations anew.
"""

from functools import cache
from pathlib import Path

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import RenderError
from chartkit.helm.render import dry_run, render_chart
from chartkit.kyverno import policy_fields
from chartkit.model import Body, Resource
from chartkit.project.project import Project, read_project
from tests.conftest import Golden

_FOLDER = Path(__file__).parent / "policy_forms"
_EXPECTED = "policy_forms/expected/"
_FORMS = ("ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy", "both")
_ENVIRONMENTS = ("v1-12", "v1-14", "v1-16", "v1-19")
_REFUSED = [("v1-12", "ValidatingPolicy"), ("v1-12", "both")]
_SERVED = [
    (name, form) for name in _ENVIRONMENTS for form in _FORMS if (name, form) not in _REFUSED
]


@cache
def _project() -> Project:
    return read_project(_FOLDER)


@cache
def _plan() -> ChartPlan:
    return plan(_project())


def _values(name: str, form: str) -> list[Body]:
    return [parse_yaml(_plan().values[f"values_{name}.yaml"]), {"policyType": form}]


def _rendered(name: str, form: str) -> tuple[Resource, ...]:
    kube_version = _project().environment(name).kube_version
    values = _values(name, form)
    return render_chart(_plan(), values, namespace="kyverno", kube_version=kube_version).resources


@pytest.mark.parametrize(("name", "form"), _SERVED)
def test_policy_forms_manifests(name: str, form: str, golden: Golden) -> None:
    text = dump_documents(resource.body for resource in _rendered(name, form))
    golden(f"{_EXPECTED}{name}_{form}.yaml", text)


@pytest.mark.parametrize("form", _FORMS)
def test_policy_forms_notes(form: str, golden: Golden) -> None:
    kube_version = _project().environment("v1-19").kube_version
    shown = dry_run(_plan(), _values("v1-19", form), namespace="kyverno", kube_version=kube_version)
    golden(f"{_EXPECTED}notes_{form}.txt", shown.notes)


@pytest.mark.parametrize(("name", "form"), _REFUSED)
def test_a_version_without_the_form_is_refused(name: str, form: str) -> None:
    with pytest.raises(RenderError, match="does not serve ValidatingPolicy"):
        _rendered(name, form)


@pytest.mark.parametrize(("name", "form"), _SERVED)
def test_each_field_is_in_that_version(name: str, form: str) -> None:
    kyverno = _project().environment(name).kyverno
    for each in _rendered(name, form):
        group, _, version = each.body["apiVersion"].partition("/")
        if group == policy_fields.GROUP:
            assert policy_fields.minimum_version(each.body)[0] <= kyverno
            served = [row for row in policy_fields.KINDS[each.kind] if row.since <= kyverno]
            assert version == served[-1].version
