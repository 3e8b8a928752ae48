"""Each value of the policies chart changes what each form says, or is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chartkit.chart.render import render_chart
from chartkit.errors import RenderError
from chartkit.model import Body
from tests.unit.chart.policy_forms import FORMS, MINE, chart
from tests.unit.chart.values_matrix import CASES, OF_NO_POLICY, Case

_MATRIX = [
    pytest.param(form, case, id=f"{form}-{case.name}-{at}")
    for at, case in enumerate(CASES)
    for form in FORMS
]


def _rendered(form: str | None, values: Mapping[str, Any]) -> list[Body]:
    given = {"policyType": form, "kyvernoVersion": "1.19", **values}
    found = render_chart(chart(), [given], namespace="kyverno", kube_version="v1.34.0")
    return [each.body for each in found.resources]


@pytest.mark.parametrize(("form", "case"), _MATRIX)
def test_a_value_shows_or_is_refused(form: str, case: Case) -> None:
    before = _rendered(form, case.beside)
    values = {**case.beside, **case.values}
    if form in case.refused:
        with pytest.raises(RenderError) as raised:
            _rendered(form, values)
        assert case.refused[form] in str(raised.value)
    else:
        assert _rendered(form, values) != before


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=lambda c: c.name)
@pytest.mark.parametrize(("version", "form"), [("1.12", FORMS[0]), ("1.19", FORMS[1])])
def test_what_the_version_settles_refuses_the_same(case: Case, version: str, form: str) -> None:
    values = {**case.beside, **case.values, "kyvernoVersion": version}
    if form not in case.refused:
        assert _rendered(None, values)
        return
    with pytest.raises(RenderError, match=r"policy (mine|plain): "):
        _rendered(None, values)


def test_every_value_has_a_case() -> None:
    schema = json.loads(chart().files["values.schema.json"])
    own = {
        f"policies.{key}"
        for key in schema["properties"]["policies"]["properties"][MINE]["properties"]
    }
    cases = {case.name for case in CASES}
    assert cases == (set(schema["properties"]) - OF_NO_POLICY) | own
