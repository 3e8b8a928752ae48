"""Each value of the policies chart changes what each form says, or is refused with the reason.

What is rendered differs, and the bundled engine says something else of some request; of values
that cannot do that, `values_matrix` tells what else they change.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from chartkit.errors import RenderError
from chartkit.helm.render import render_chart
from chartkit.model import Body
from tests.errors import error_of
from tests.unit.charts.policies.policy_forms import FORMS, chart, chart_folder
from tests.unit.charts.policies.said import said
from tests.unit.charts.policies.values_matrix import CASES, OF_NO_POLICY, Case

_ALL = [(form, case, f"{form}-{case.name}-{at}") for at, case in enumerate(CASES) for form in FORMS]
_MATRIX = [pytest.param(form, case, id=name) for form, case, name in _ALL]
_SPOKEN = [
    pytest.param(form, case, id=name) for form, case, name in _ALL if form not in case.refused
]


def _rendered(form: str | None, values: Mapping[str, Any]) -> list[Body]:
    given = {"policyType": form, "kyvernoVersion": "1.19", **values}
    bodies: list[Body] = json.loads(_texts(json.dumps(given)))
    return bodies


@cache
def _texts(values: str) -> str:
    """What the chart comes to, in JSON; each set of values, in JSON too, is rendered once."""
    given = json.loads(values)
    found = render_chart(chart_folder(), [given], namespace="kyverno", kube_version="v1.34.0")
    return json.dumps([each.body for each in found.resources])


@pytest.mark.parametrize(("form", "case"), _MATRIX)
def test_a_value_shows_or_is_refused(form: str, case: Case) -> None:
    if form in case.refused:
        assert case.refused[form] in str(error_of(RenderError, _rendered, form, case.after(form)))
    else:
        assert _rendered(form, case.after(form)) != _rendered(form, case.before(form))


@pytest.mark.parametrize(("form", "case"), _SPOKEN)
def test_a_value_changes_what_is_said(form: str, case: Case) -> None:
    before = said(_rendered(form, case.before(form)), case.of)
    after = said(_rendered(form, case.after(form)), case.of)
    if form in case.silent:
        assert after == before
    elif form in case.settings:
        assert after.results == before.results
        assert after.settings != before.settings
    else:
        assert after.results != before.results


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=lambda c: c.name)
@pytest.mark.parametrize(("version", "form"), [("1.12", FORMS[0]), ("1.19", FORMS[1])])
def test_what_the_version_settles_refuses_the_same(case: Case, version: str, form: str) -> None:
    values = {**case.after(form), "kyvernoVersion": version}
    if form not in case.refused:
        assert _rendered(None, values)
        return
    with pytest.raises(RenderError, match=r"policy (mine|plain): "):
        _rendered(None, values)


def test_every_value_has_a_case() -> None:
    schema = json.loads(chart().files["values.schema.json"])
    own = {f"policies.{key}" for key in schema["definitions"]["policy"]["properties"]}
    cases = {case.name for case in CASES}
    assert cases == (set(schema["properties"]) - OF_NO_POLICY) | own
