"""Kyverno's braces through Helm and back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.charts.plan import ChartPlan
from chartkit.helm.render import render_chart
from chartkit.helm.syntax import escape, literal
from chartkit.library.templating import render_text
from tests.draws import draws

_CHART = "apiVersion: v2\nname: text\nversion: 0.0.0\n"


def through_helm(template: str) -> str:
    """What Helm makes of a template's text."""
    object_ = 'apiVersion: v1\nkind: Text\ntext: {{ include "text" . | toJson }}\n'
    marked = '{{- define "text" }}' + template + "{{ end }}" + object_
    files = {"Chart.yaml": _CHART, "templates/text.yaml": marked}
    rendered = render_chart(ChartPlan("text", files, {"values.yaml": "{}\n"}))
    text: str = rendered.resources[0].body["text"]
    return text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain", "plain"),
        ("{{ x }}", "{{ `{{ x }}` }}"),
        ("a {{ x }} b {{y}} c", "a {{ `{{ x }}` }} b {{ `{{y}}` }} c"),
        ("{{ x || `[]` }}", '{{ "{{ x || `[]` }}" }}'),
        ('{{ x || `"a\\n"` }}', '{{ "{{ x || `\\"a\\\\n\\"` }}" }}'),
        ("{{ a.{{ b }} }}", "{{ `{{ a.{{ b }} }}` }}"),
        ("{{ x", "{{ `{{` }} x"),
        ("x }}", "x }}"),
        ("{{ `[]` }}", '{{ "{{ `[]` }}" }}'),
        ("{{ a\n  b }}", "{{ `{{ a\n  b }}` }}"),
    ],
)
def test_escaping_escapes(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(
    "escaped",
    [
        "{{`{{ x }}`}}",
        "{{- `{{ x }}` -}}",
        '{{ "{{ x }}" }}',
        "{{`{{`}} element || `[]` {{`}}`}}",
    ],
)
def test_keeps_what_is_escaped_already(escaped: str) -> None:
    assert escape(escaped) == escaped
    assert escape(escape(escaped)) == escaped


@pytest.mark.parametrize(
    "text",
    [
        "{{ request.object.metadata.labels.\"app.kubernetes.io/name\" || '' }}",
        "{{ request.object.spec.[containers, initContainers][] || `[]` }}",
        '{{ to_string(`{"a": {"b": 1}}`) }}',
        "{{ {a: {b: c}} }}",
        "{{{x}}}",
        "a\tb {{ x || `\\n` }}",
        "{{ x {{ y }}",
    ],
)
def test_helm_prints_the_library_text(text: str) -> None:
    assert through_helm(escape(text)) == text


@draws(150)
@given(st.lists(st.sampled_from(["{{", "}}", "{", "}", "`", '"', "\\", "\n", " ", "x", "é", "-"])))
def test_helm_prints_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    packed = re.sub(r"[\s-]", "", text)
    if "{{`" in packed or '{{"' in packed:
        # What looks like a Helm literal may be taken for one, on purpose.
        return
    escaped = escape(text)
    assert through_helm("x" + escaped + "x") == "x" + text + "x"


def test_a_tag_in_a_variable_stays_a_tag() -> None:
    escaped = escape("{{ x == '<%= name %>' }}")
    assert through_helm(render_text(escaped, {"name": "a"})) == "{{ x == 'a' }}"


def test_literal_quotes_backticks() -> None:
    assert literal("a") == "{{ `a` }}"
    assert literal("`") == '{{ "`" }}'
