"""What Helm runs of a policy from elsewhere, and what it prints."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.charts.plan import ChartPlan
from chartkit.documents.reader import Source
from chartkit.errors import InputError
from chartkit.helm.embedded_code import UpstreamText, first_code, read_upstream
from chartkit.helm.render import render_chart
from tests.draws import draws
from tests.shared import shared

_GUARDED = """\
{{- /* Ours. */ -}}
{{- $name := "ours" }}
{{- if eq (include "theirs.enabled" (merge (dict "name" $name) .)) "true" }}
kind: A
metadata:
  name: {{ $name }}
  labels:
    {{- include "kyverno-policies.labels" . | nindent 4 }}
    team: {{ .Values.team | default "ours" | quote }}
message: "{{ request.operation }} of {{ `{{ request.namespace }}` }}"
{{- if .Values.strict }}
mode: strict
{{- else }}
mode: lax
{{- end }}
{{- end }}
"""


def _read(text: str) -> UpstreamText:
    return read_upstream(Source("a.yaml", text))


def _rendered(template: str, **values: object) -> str:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.0.0\n",
        "templates/_a.tpl": '{{ define "theirs.enabled" }}true{{ end }}'
        '{{ define "kyverno-policies.labels" }}app: a{{ end }}',
        "templates/a.yaml": f'{{{{ define "text" }}}}\n{template}\n{{{{ end }}}}'
        'apiVersion: v1\nkind: A\ntext: {{ include "text" . | toJson }}\n',
    }
    (found,) = render_chart(ChartPlan("a", files, {"values.yaml": "{}\n"}), [values]).resources
    text: str = found.body["text"]
    assert text[0] == text[-1] == "\n"
    return text[1:-1]


@pytest.mark.parametrize(
    "text",
    [
        "a: '{{ request.object.metadata.name }}'",
        "a: '{{ end }}'",
        "a: '{{ else }} {{ now }} {{ list }} {{ first.name }} {{ keys(labels) }}'",
        "a: \"{{ lookup(map, 'a') }}\"",
        "a: \"{{ to_upper('{{ b }}') }}\"",
        r"a: '\{{ .Values.a }} \{{ tpl .a . }}'",
        "a: '{{{ .Values.a }}}'",
        "a: '{{ if'",
        "a: <% for x in y %><%= 7 * 7 %>{{ b <% c %> }}",
        "a: '{{- x -}}'",
        "a: '{{ \"x\" | quote }}'",
    ],
)
def test_what_is_no_code_of_helm_s_is_printed(text: str) -> None:
    found = _read(text)
    assert not found.has_code
    assert found.outline == text
    assert _rendered(found.template) == text


def test_escaped_braces_stay() -> None:
    text = """a: 'sleep {{ `{{ b }}` }} {{"{{"}} c {{ "}}" }} {{ d }}'"""
    found = _read(text)
    assert not found.has_code
    assert found.outline == "a: 'sleep {{ b }} {{ c }} {{ d }}'"
    assert _rendered(found.template) == found.outline


def test_a_guard_values_and_labels_are_kept() -> None:
    found = _read(_GUARDED)
    assert found.guards == ("theirs.enabled",)
    body = yaml.safe_load(found.outline)
    assert body["metadata"]["name"] == "ours"
    assert body["mode"] == "strict"
    assert found.outline.count("\n") == _GUARDED.count("\n")
    body = yaml.safe_load(_rendered(found.template, team="b"))
    assert body == {
        "kind": "A",
        "metadata": {"name": "ours", "labels": {"app": "a", "team": "b"}},
        "message": "{{ request.operation }} of {{ request.namespace }}",
        "mode": "lax",
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('{{ .Files.Get "secret" }}', "may read no file"),
        ('{{ $.Files.Get "secret" }}', "may read no file"),
        ("{{ .Files }}", r"reads \.Files"),
        ("{{ $.Template.Name }}", r"reads \.Template"),
        ('{{ lookup "v1" "Secret" "a" "b" }}', "read objects of the cluster"),
        ("{{ tpl .Values.a . }}", "run values as code"),
        ('{{ index .Values (tpl "a" .) }}', "run values as code"),
        ('{{ ("a" | tpl .) }}', "run values as code"),
        ('{{ env "HOME" }}', "read the environment"),
        ('{{ getHostByName "a" }}', "ask the network"),
        ("{{ randAlphaNum 8 }}", "every render would differ"),
        ('{{ .Values.a | date "2006" }}', "calls 'date'"),
        ("{{ .Values.a | unknown }}", "Helm has no such function"),
        ("{{ if unknown .Values.a }}b{{ end }}", "Helm has no such function"),
        ('{{ define "kyverno-policies.enabled" }}true{{ end }}', "no templates of its own"),
        ('{{ block "a" . }}{{ end }}', "not Helm code that can be read"),
        ('{{ include "kyverno-policies.call" . }}', "beside a guard"),
        ("{{ include .Values.a . }}", "without a name"),
        ("{{ if .Values.a }}", "has no end"),
        ("{{ if eq .Values.a }} }", "has no end"),
        ("{{ $a }}", "is not set before"),
        ("{{ range list 1 2 }}a{{ end }}", r"a list of \.Values alone"),
        ("{{ with .Values.a }}{{ break }}{{ end }}", "run to their end"),
        ('{{ printf "%[1]s%[1]s" .Values.a }}', "needs a form"),
        ('{{ printf "%1000000d" 1 }}', "needs a form"),
        ('{{ "a" | indent 1000000 }}', "indents by"),
        ('{{ repeat 1000000000 "a" }}', "calls 'repeat'"),
        ("{{ " + "quote (" * 11 + ".Values.a" + ")" * 11 + " }}", "megabytes"),
        (
            "{{ $a := print .Values.a .Values.a }}{{ $b := print $a $a $a $a $a $a $a $a }}"
            "{{ $c := print $b $b $b $b $b $b $b $b }}{{ $d := print $c $c $c $c }}",
            "megabytes",
        ),
        ("{{ .Values.a }}" * 2001, "more than 2000 actions"),
        ("{{ if `a b", "not Helm code that can be read"),
    ],
)
def test_what_a_policy_may_not_do(code: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _read(f"kind: A\nname: b\na: {code}\n")
    assert str(caught.value.location) == "a.yaml:3"


def test_a_comment_of_yaml_hides_nothing_from_helm() -> None:
    with pytest.raises(InputError, match="may read no file"):
        _read('# {{ .Files.Get "secret" }}\nkind: A\n')


_PIECE = st.sampled_from(
    ["{{", "}}", "{", "}", " ", "`", '"', "\\", "-", "/*", "*/", ".Values.a", "$", "end", "if ",
     "else", "now", "x", "(", ")", "|", "\n", "quote ", "<%", "%>", ":=", "tpl "]
)  # fmt: skip


@draws(300)
@given(st.lists(_PIECE, max_size=14).map("".join))
def test_helm_prints_what_the_outline_says(text: str) -> None:
    try:
        found = _read(text)
    except InputError:
        return
    if not found.has_code:
        assert _rendered(found.template) == found.outline


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b\n", None),
        ("a: '{{ request.object.metadata.name }}'\n", None),
        ("a: '{{ element.image || `[]` }} and \\{{ x }}'\n", None),
        ("a: '{{ to_upper(name) }}'\nb: '{{ @ }}'\n", None),
        ("a: b\nc: {{ .Values.c }}\n", 2),
        ("{{- if .Values.c }}\na: b\n{{- end }}\n", 1),
        ("a: '{{ request.operation }}'\nb: {{ include \"x\" . | indent 4 }}\n", 2),
        ("{{/* A comment. */}}\na: b\n", 1),
        ("a:\n  b: {{ `{{ request.operation }}` }}\n", 2),
        ("a: {{ $name }}\n", 1),
    ],
)
def test_the_first_helm_code_of_a_text(text: str, line: int | None) -> None:
    assert first_code(text) == line


def test_no_policy_of_the_public_library_is_taken_for_helm_code() -> None:
    files = sorted(shared("conformance/policy-library").rglob("*.yaml"))
    assert len(files) > 500
    found = {file.name: first_code(file.read_text("utf-8")) for file in files}
    assert {name: line for name, line in found.items() if line is not None} == {}
