"""What the chart writes into expressions, by templates of its own (`_cel_text.tpl`)."""

import json

import pytest

from chartkit import bundled
from chartkit.charts.plan import POLICIES, ChartPlan
from chartkit.helm.render import render_chart
from tests.data import beside

_TEXTS = "chart/templates/_cel_text.tpl"
_CALL = beside(__file__)["call"]
_BEFORE = {
    "object.spec.x == 1": "oldObject.spec.x == 1",
    "has(object.a)&&!object.b": "has(oldObject.a)&&!oldObject.b",
    "object": "oldObject",
    "1+object.a": "1+oldObject.a",
    "request.object.a == object .a": "request.object.a == oldObject .a",
    "request . object": "request . object",
    "objects.all(o, o.object == myobject)": "objects.all(o, o.object == myobject)",
    "oldObject != object": "oldObject != oldObject",
    '\'object\' + "object \\" object" + object.a': '\'object\' + "object \\" object" + oldObject.a',
    "r'object\\' + object.a": "r'object\\' + oldObject.a",
    'R"object" + """object"""': 'R"object" + """object"""',
    "// object\nobject.a // object": "// object\noldObject.a // object",
    "object.a / object.b": "oldObject.a / oldObject.b",
    "variables.pods.all(pod, pod.x)": "variables.oldPods.all(pod, pod.x)",
    "variables . pods": "variables . oldPods",
    "variables.\npods + variables.pod": "variables.\noldPods + variables.pod",
    "variables.object + object.variables.pods": "variables.oldObject + oldObject.variables.pods",
    "variables.podsToo + variablesToo.pods + variables": (
        "variables.podsToo + variablesToo.pods + variables"
    ),
    "dyn(object).?metadata.?labels.orValue({}) # Größe": (
        "dyn(oldObject).?metadata.?labels.orValue({}) # Größe"
    ),
    "": "",
}


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    """What becomes of each expression, all in one render."""
    texts = list(_BEFORE)
    template = bundled.chart_source_dir(POLICIES) / _TEXTS
    files = {
        "Chart.yaml": "apiVersion: v2\nname: texts\nversion: 0.0.0\n",
        "templates/_texts.tpl": template.read_text("utf-8"),
        "templates/calls.yaml": _CALL,
    }
    values = {"values.yaml": json.dumps({"texts": texts, "variables": ["pods", "object"]})}
    found = render_chart(ChartPlan("texts", files, values)).resources
    return {text: each.body["data"]["text"] for text, each in zip(texts, found, strict=True)}


@pytest.mark.parametrize("text", _BEFORE, ids=lambda text: json.dumps(text))
def test_an_expression_about_the_object_before(text: str, before: dict[str, str]) -> None:
    assert before[text] == _BEFORE[text]
