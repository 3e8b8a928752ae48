from __future__ import annotations

import pytest

from chartkit.charts.plan import ChartPlan
from chartkit.helm.long_lines import WIDTH, wrap
from chartkit.helm.render import render_chart
from chartkit.model import Body

WORDS = "ten words that are on a line and fit it "
LONG = WORDS * 6
NAME = "x" * 70
TEMPLATES = {
    "text": f"text: {LONG}end",
    "text without spaces": '{"a":"' + "b,{" * 90 + '"}',
    "a word that is too long": f"text: {'x' * 200}",
    "an action": "text: {{ list " + '"a" "b c" (len "d") ' * 12 + "| toJson | quote }}",
    "a string": f'text: {{{{ printf "{LONG}%s" "end" | quote }}}}',
    "a raw string": f"text: {{{{ `{LONG}{{{{ x }}}} \\n` | quote }}}}",
    "escapes": 'text: {{ "' + r"\" \\ \\u003c }} " * 20 + '" | quote }}',
    "trim markers": f"text:   {{{{- print ` {LONG}` -}}}}   end\n{{{{- /* {LONG} */ -}}}}\n",
    "defines": (
        f'{{{{ define "{NAME}" }}}}{WORDS}{{{{ end }}}}a: {{{{ include "{NAME}" . }}}} {LONG}'
    ),
    "a block scalar": f"text: |\n  {LONG}\n    {LONG}\n  {{{{ print 1 }}}} {LONG}\n",
    "strings in a pipeline": (
        f'text: {{{{ "a" | replace "a" "{WORDS * 3}" | replace "ten" `{WORDS * 3}` | quote }}}}'
    ),
}


def _rendered(template: str) -> list[Body]:
    lines = template.replace("\n", "\n  ")
    text = f"kind: A\napiVersion: v1\nmetadata: {{name: a}}\ndata:\n  {lines}\n"
    files = {
        "Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
        "templates/a.yaml": text,
    }
    wrapped = {**files, "templates/a.yaml": wrap(text)}
    assert wrapped != files or "word that" in text or "xxx" in text
    plans = (ChartPlan("a", each, {"values.yaml": "{}\n"}) for each in (files, wrapped))
    return [render_chart(plan).resources[0].body for plan in plans]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_wrapped_template_renders_the_same(name: str) -> None:
    before, after = _rendered(TEMPLATES[name])
    assert before == after
    assert before["data"]


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - {"a word that is too long", "defines"}))
def test_wrapped_lines_are_short(name: str) -> None:
    text = TEMPLATES[name]
    assert max(map(len, text.split("\n"))) > WIDTH
    assert max(map(len, wrap(text).split("\n"))) <= WIDTH
    assert wrap(wrap(text)) == wrap(text)


@pytest.mark.parametrize(
    "text", ["short: {{ .x }}\n", "{{ " + "x " * 100, '{{ " ' + "x " * 100 + "}}"]
)
def test_what_is_short_or_cannot_be_read_stays(text: str) -> None:
    assert wrap(text) == text
